package specstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// Defaults of a Config, with their reasons: the first two are the Java
// runtime's; 10,000 origins outlive any revert that people still remember.
const (
	DefaultHistoryCap       = 10
	DefaultAuditCap         = 1000
	DefaultOriginCap        = 10000
	DefaultAuthorizeTimeout = 2 * time.Second
)

// Config says where the store is and how much it keeps; zero fields take the defaults.
type Config struct {
	Prefix           string        // of every key; on a cluster it must contain {tenant}
	HistoryCap       int           // replaced specs kept for each job
	AuditCap         int           // rows of the audit stream, about
	OriginCap        int           // origins kept for each spec
	Authorize        Authorizer    // nil allows everything
	AuthorizeTimeout time.Duration // an authoriser that takes longer refuses
}

// Authorizer decides whether who may do op to a job: nil is yes, an error is no
// and says why. It is asked before anything is written; an error, a panic or an
// answer too late is a refusal, and every refusal is audited. Source: R-A4, R-A11.
type Authorizer func(ctx context.Context, who string, op spec.Op, tenant, job string) error

// Store is the specs of all tenants below one prefix of one Redis. It is safe
// for parallel use.
type Store struct {
	rdb     redis.UniversalClient
	cfg     Config
	key     keyring
	scripts map[string]*redis.Script
}

// New makes a Store on a client whose MaxRetries is -1 (see Dial), without
// talking to it. A cluster needs {tenant} in the prefix: else the keys of one
// script would lie in many slots.
func New(rdb redis.UniversalClient, cfg Config) (*Store, error) {
	if rdb == nil {
		return nil, errors.New("specstore: no Redis client")
	}
	cfg = cfg.withDefaults()
	keys, err := newKeyring(cfg.Prefix)
	if err != nil {
		return nil, fmt.Errorf("specstore: %w", err)
	}
	if _, cluster := rdb.(*redis.ClusterClient); cluster && !keys.perTenant() {
		return nil, fmt.Errorf("specstore: %w", errNeedsTag(cfg.Prefix))
	}
	if min(cfg.HistoryCap, cfg.AuditCap, cfg.OriginCap) < 1 {
		return nil, fmt.Errorf("specstore: caps of history %d, audit %d and origins %d must be at least 1",
			cfg.HistoryCap, cfg.AuditCap, cfg.OriginCap)
	}
	scripts, err := loadScripts()
	if err != nil {
		return nil, fmt.Errorf("specstore: %w", err)
	}
	return &Store{rdb: rdb, cfg: cfg, key: keys, scripts: scripts}, nil
}

func errNeedsTag(prefix string) error {
	return fmt.Errorf("prefix %q lacks %s, which a Redis Cluster needs: choose one like \"ctl:%s:\"", prefix, tenantTag, tenantTag)
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.HistoryCap == 0 {
		c.HistoryCap = DefaultHistoryCap
	}
	if c.AuditCap == 0 {
		c.AuditCap = DefaultAuditCap
	}
	if c.OriginCap == 0 {
		c.OriginCap = DefaultOriginCap
	}
	if c.AuthorizeTimeout <= 0 {
		c.AuthorizeTimeout = DefaultAuthorizeTimeout
	}
	return c
}

// checkJob refuses names that would spell another tenant's keys.
func checkJob(tenant, job string) error {
	if err := spec.CheckTenant(tenant); err != nil {
		return err
	}
	if err := spec.CheckName(job); err != nil {
		return fmt.Errorf("job %w", err)
	}
	return nil
}
