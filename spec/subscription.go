package spec

import (
	"slices"
	"strconv"
)

// Subscription subscribes a Pavilion to a Kollex: Episodes (what users see) and
// the Dramas behind them. Ids are local ids of the Pavilion, as text that the
// decoder has checked with gid.ParseLocal.
type Subscription struct {
	Name              string    `json:"name"`
	Kollex            KollexRef `json:"kollex"`
	Episodes          []Episode `json:"episodes"`
	Dramas            []Drama   `json:"dramas"`
	ExternalTargetIDs []string  `json:"externalTargetIds"`
}

// KollexRef names the Kollex that is subscribed to.
type KollexRef struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Builtin  bool   `json:"builtin"`
	ImageTag string `json:"imageTag,omitempty"`
}

// Episode is a target that users see.
type Episode struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Port  int    `json:"port,omitempty"` // 0 = none
	Image string `json:"image"`
}

// Drama is a back-end service.
type Drama struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Port    int    `json:"port"`
	RoleID  string `json:"roleId"`
	Image   string `json:"image"`
	Self    bool   `json:"self,omitempty"` // the platform's own Drama
}

// Key is the identity of s.
func (s Subscription) Key() Key { return Key{KindSubscription, s.Name} }

// Suspended is false: a subscription has no stopped state.
func (s Subscription) Suspended() bool { return false }

// HasLiteral is false: a subscription holds no secrets.
func (s Subscription) HasLiteral() bool { return false }

// Equal compares the content of two subscriptions. The order of lists is content.
func (s Subscription) Equal(other Spec) bool {
	o, ok := other.(Subscription)
	return ok && s.Name == o.Name && s.Kollex == o.Kollex && slices.Equal(s.Episodes, o.Episodes) &&
		slices.Equal(s.Dramas, o.Dramas) && slices.Equal(s.ExternalTargetIDs, o.ExternalTargetIDs)
}

// normal writes absent lists as empty ones, so that both digest alike.
func (s Subscription) normal() Subscription {
	if s.Episodes == nil {
		s.Episodes = []Episode{}
	}
	if s.Dramas == nil {
		s.Dramas = []Drama{}
	}
	if s.ExternalTargetIDs == nil {
		s.ExternalTargetIDs = []string{}
	}
	return s
}

// CanonicalJSON is the stored content of s, one line.
func (s Subscription) CanonicalJSON() []byte { return canonical(s.normal()) }

// Fields lists the content of s by field.
func (s Subscription) Fields() map[string]string {
	f := map[string]string{
		"kollex.id": s.Kollex.ID, "kollex.name": s.Kollex.Name,
		"kollex.builtin": strconv.FormatBool(s.Kollex.Builtin), "kollex.imageTag": s.Kollex.ImageTag,
	}
	for _, e := range s.Episodes {
		at := "episodes." + e.ID + "."
		f[at+"name"], f[at+"image"] = e.Name, e.Image
		if e.Port != 0 {
			f[at+"port"] = strconv.Itoa(e.Port)
		}
	}
	for _, d := range s.Dramas {
		at := "dramas." + d.ID + "."
		f[at+"service"], f[at+"port"], f[at+"roleId"], f[at+"image"] = d.Service, strconv.Itoa(d.Port), d.RoleID, d.Image
		if d.Self {
			f[at+"self"] = "true"
		}
	}
	for _, id := range s.ExternalTargetIDs {
		f["externalTargetIds."+id] = "true"
	}
	return f
}

// Fields lists the content of j by field; config keys as config.<key>.
func (j Job) Fields() map[string]string {
	f := map[string]string{
		"pipelineFactory": j.Factory, "parallelism": strconv.Itoa(j.Parallelism),
		"suspend": strconv.FormatBool(j.Suspend), "description": j.Description,
	}
	for k, v := range j.Config {
		f["config."+k] = v
	}
	return f
}
