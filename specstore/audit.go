package specstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-dev/pawl/spec"
)

// AuditQuery selects rows of the audit stream.
type AuditQuery struct {
	Tenant string // empty = all tenants
	Job    string // spec.Key.String, or * for whole commits; empty = all
	Since  string // stream id of the last row that was read: rows after it; empty = the newest
	Limit  int    // rows at most; 0 = all there are
}

// auditPage is how many rows one round trip reads.
const auditPage = 500

// Audit reads rows, oldest first. Without Since it reads the newest Limit ones. The
// stream itself is bounded by Config.AuditCap.
func (s *Store) Audit(ctx context.Context, q AuditQuery) ([]spec.AuditRow, error) {
	if q.Limit <= 0 {
		q.Limit = math.MaxInt
	}
	streams, err := s.streams(ctx, q.Tenant)
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	var rows []spec.AuditRow
	for _, key := range streams {
		part, err := s.readStream(ctx, key, q)
		if err != nil {
			return nil, fmt.Errorf("read audit: %w", err)
		}
		rows = append(rows, part...)
	}
	if len(streams) > 1 {
		slices.SortStableFunc(rows, func(a, b spec.AuditRow) int { return compareIDs(a.ID, b.ID) })
	}
	if over := len(rows) - q.Limit; over > 0 && q.Since == "" {
		return rows[over:], nil
	}
	return rows[:min(len(rows), q.Limit)], nil
}

// streams lists the audit streams to read: one, or one for each tenant where each
// has a slot of its own.
func (s *Store) streams(ctx context.Context, tenant string) ([]string, error) {
	if tenant != "" {
		if err := spec.CheckTenant(tenant); err != nil {
			return nil, err
		}
		return []string{s.key.audit(tenant)}, nil
	}
	if !s.key.perTenant() {
		return []string{s.key.audit(defaultTenant)}, nil
	}
	tenants, err := s.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(tenants))
	for i, t := range tenants {
		keys[i] = s.key.audit(t)
	}
	return keys, nil
}

// readStream pages through one stream, forward from Since or backward from the end.
func (s *Store) readStream(ctx context.Context, key string, q AuditQuery) ([]spec.AuditRow, error) {
	var rows []spec.AuditRow
	for edge := q.Since; len(rows) < q.Limit; {
		page, err := s.readPage(ctx, key, edge, q.Since == "")
		if err != nil {
			return nil, readErr(err)
		}
		for _, m := range page {
			if row := decodeRow(m); q.matches(row) && len(rows) < q.Limit {
				rows = append(rows, row)
			}
		}
		if len(page) < auditPage {
			break
		}
		edge = page[len(page)-1].ID
	}
	if q.Since == "" {
		slices.Reverse(rows)
	}
	return rows, nil
}

func (s *Store) readPage(ctx context.Context, key, edge string, backward bool) ([]redis.XMessage, error) {
	switch {
	case backward && edge == "":
		return s.rdb.XRevRangeN(ctx, key, "+", "-", auditPage).Result()
	case backward:
		return s.rdb.XRevRangeN(ctx, key, "("+edge, "-", auditPage).Result()
	}
	return s.rdb.XRangeN(ctx, key, "("+edge, "+", auditPage).Result()
}

// Tail waits up to block for rows after q.Since (empty: from now on) and gives
// them with the id to go on from. No rows is no error. With {tenant} in the prefix
// q.Tenant must be given.
func (s *Store) Tail(ctx context.Context, q AuditQuery, block time.Duration) (rows []spec.AuditRow, next string, err error) {
	if q.Tenant == "" && s.key.perTenant() {
		return nil, q.Since, errors.New("tail audit: name a tenant: each has a stream of its own")
	}
	streams, err := s.streams(ctx, q.Tenant)
	if err != nil {
		return nil, q.Since, fmt.Errorf("tail audit: %w", err)
	}
	next = q.Since
	if next == "" {
		if next, err = s.lastID(ctx, streams[0]); err != nil {
			return nil, "", fmt.Errorf("tail audit: %w", err)
		}
	}
	limit := auditPage
	if q.Limit > 0 {
		limit = min(q.Limit, auditPage)
	}
	for until := time.Now().Add(block); ; {
		// short waits, so that the end of ctx is noticed
		wait := min(max(time.Until(until), time.Millisecond), time.Second)
		got, err := s.rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{streams[0], next}, Count: int64(limit), Block: wait}).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, next, fmt.Errorf("tail audit: %w", readErr(err))
		}
		for _, stream := range got {
			for _, m := range stream.Messages {
				next = m.ID
				if row := decodeRow(m); q.matches(row) {
					rows = append(rows, row)
				}
			}
		}
		if len(rows) > 0 || !time.Now().Before(until) || ctx.Err() != nil {
			return rows, next, ctx.Err()
		}
	}
}

// lastID is the id of the newest row, from which a tail starts.
func (s *Store) lastID(ctx context.Context, key string) (string, error) {
	last, err := s.rdb.XRevRangeN(ctx, key, "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return "0-0", readErr(err)
	}
	return last[0].ID, nil
}

func (q AuditQuery) matches(r spec.AuditRow) bool {
	return (q.Tenant == "" || r.Tenant == q.Tenant) && (q.Job == "" || r.Job == q.Job)
}

// decodeRow reads a row, ours or Java's, whose optional fields may be absent. A
// number that is none reads as 0: the trace is shown, not judged.
func decodeRow(m redis.XMessage) spec.AuditRow {
	str := func(field string) string {
		v, _ := m.Values[field].(string)
		return v
	}
	num := func(field string) int64 {
		n, err := strconv.ParseInt(str(field), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return spec.AuditRow{ID: m.ID, TS: num("ts"), Tenant: str("tenant"), Actor: str("actor"), Op: spec.Op(str("op")), Job: str("jobName"),
		From: num("fromVersion"), To: num("toVersion"), Allowed: str("allowed") == "true", Detail: str("detail"),
		Kind: str("kind"), Result: spec.Result(str("result")), Commit: str("commit")}
}

// compareIDs orders stream ids by time and number.
func compareIDs(a, b string) int {
	am, as, _ := strings.Cut(a, "-")
	bm, bs, _ := strings.Cut(b, "-")
	num := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return cmp.Or(cmp.Compare(num(am), num(bm)), cmp.Compare(num(as), num(bs)))
}
