package specstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pawl-dev/pawl/spec"
)

// wireSubscription is our own record of a subscription; the Java runtime has none.
type wireSubscription struct {
	Name      string          `json:"name"`
	Tenant    string          `json:"tenant"`
	Version   int64           `json:"version"`
	Spec      json.RawMessage `json:"spec"`
	UpdatedBy string          `json:"updatedBy"`
	UpdatedAt int64           `json:"updatedAt"`
	Digest    string          `json:"digest"`
}

func encodeSubscription(r spec.Record, s spec.Subscription) (string, error) {
	return oneLine(wireSubscription{Name: s.Name, Tenant: r.Tenant, Version: r.Version, Spec: s.CanonicalJSON(),
		UpdatedBy: r.UpdatedBy, UpdatedAt: r.UpdatedAt, Digest: s.Digest()})
}

func decodeSubscription(tenant, name, raw string) (spec.Record, error) {
	var w wireSubscription
	key := spec.Key{Kind: spec.KindSubscription, Name: name}
	if err := json.Unmarshal([]byte(raw), &w); err != nil {
		return spec.Record{}, unreadable(tenant, key.String(), err)
	}
	var s spec.Subscription
	if len(w.Spec) > 0 {
		if err := json.Unmarshal(w.Spec, &s); err != nil {
			return spec.Record{}, unreadable(tenant, key.String(), err)
		}
	}
	s.Name = name
	return spec.Record{Tenant: tenant, Key: key, Spec: s, Version: w.Version, UpdatedBy: w.UpdatedBy,
		UpdatedAt: w.UpdatedAt, SpecHash: w.Digest, Raw: raw}, nil
}

// decodeRecord reads the stored record of either kind.
func decodeRecord(tenant string, key spec.Key, raw string, suspend bool) (spec.Record, error) {
	if key.Kind == spec.KindSubscription {
		return decodeSubscription(tenant, key.Name, raw)
	}
	return decodeJob(tenant, key.Name, raw, suspend)
}

func decodeOrigin(tenant string, key spec.Key, raw string) (spec.Origin, error) {
	var o spec.Origin
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return spec.Origin{}, unreadable(tenant, key.String()+" (origin)", err)
	}
	return o, nil
}

// maxFindings bounds what a cursor keeps of a refused commit; the commit itself
// has them all.
const maxFindings = 200

func encodeFindings(fs []spec.Finding) (string, error) {
	if len(fs) == 0 {
		return "", nil
	}
	if more := len(fs) - maxFindings; more > 0 {
		fs = append(fs[:maxFindings:maxFindings], spec.Finding{Message: fmt.Sprintf("and %d more findings", more)})
	}
	return oneLine(fs)
}

func decodeCursor(tenant string, h map[string]string) (spec.Cursor, error) {
	c := spec.Cursor{Applied: h["applied"], Target: h["target"], Seen: h["seen"], State: spec.TenantState(h["state"]),
		Refused: h["refused"], Error: h["error"], Epoch: h["epoch"],
		EnforceFrom: h["enforceFrom"], Pavilion: h["pavilion"], CID: h["cid"],
		Branch: h["branch"], Path: h["path"]}
	d := decoder{h: h, what: tenant + ": cursor"}
	c.Step, c.Errors, c.Since, c.Specs = d.int("step"), d.int("errors"), d.int("since"), d.int("specs")
	for field, to := range map[string]*[]spec.Finding{"findings": &c.Findings, "drift": &c.Drift} {
		if text := h[field]; text != "" {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				return spec.Cursor{}, fmt.Errorf("%s: cursor: field %s is unreadable", tenant, field)
			}
		}
	}
	return c, d.err
}

func decodeStatus(tenant, job string, h map[string]string) (spec.Status, error) {
	st := spec.Status{State: spec.State(h["state"]), InstanceID: h["instanceId"], Detail: h["detail"], RunningHash: h["runningHash"]}
	d := decoder{h: h, what: tenant + "/" + job + ": status"}
	st.UpdatedAt, st.RunningVersion, st.Generation = d.int("updatedAt"), d.int("runningVersion"), d.int("generation")
	st.Since, st.Attempt = d.int("since"), d.int("attempt")
	return st, d.err
}

func decodeLease(what string, h map[string]string) (spec.Lease, error) {
	d := decoder{h: h, what: what + ": lease"}
	l := spec.Lease{Owner: h["owner"], Generation: d.int("generation"), Until: d.int("until")}
	return l, d.err
}

// wireOverride is a person's stop or start over what Git says.
type wireOverride struct {
	Desired spec.Desired `json:"desired"`
	Since   int64        `json:"since"`
	Actor   string       `json:"actor"`
}

// overrideHalves gives the JSON of an override before and after the time, which
// only the script knows.
func overrideHalves(desired spec.Desired, actor string) (head, tail string) {
	b := appendText([]byte(`,"actor":`), actor)
	return `{"desired":"` + string(desired) + `","since":`, string(append(b, '}'))
}

// decoder reads the numbers of a hash and keeps the first that is none.
type decoder struct {
	h    map[string]string
	what string
	err  error
}

func (d *decoder) int(field string) int64 {
	text := d.h[field]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%s: field %s is no number", d.what, field)
	}
	return n
}

// oneLine is compact JSON without HTML escaping.
func oneLine(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
