package specstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/spec"
)

// wireJob is a job as the Java runtime writes and reads it. Source: CONTRACT
// section 4; testdata/wire has bytes that must decode for ever.
type wireJob struct {
	JobName         string            `json:"jobName"`
	Tenant          string            `json:"tenant"`
	PipelineFactory string            `json:"pipelineFactory"`
	Config          map[string]string `json:"config"`
	Parallelism     int               `json:"parallelism"`
	Version         int64             `json:"version"`
	Description     *string           `json:"description"`
	UpdatedBy       *string           `json:"updatedBy"`
	UpdatedAt       int64             `json:"updatedAt"`
	SpecHash        *string           `json:"specHash"`
}

// encodeRecord makes the bytes that are stored for r. SpecHash and Raw of r are
// not looked at: both follow from the rest.
func encodeRecord(r spec.Record) (string, error) {
	switch s := r.Spec.(type) {
	case spec.Job:
		return encodeJob(r, s), nil
	case spec.Subscription:
		return encodeSubscription(r, s)
	}
	return "", fmt.Errorf("%s/%s: a record of %T cannot be stored", r.Tenant, r.Key, r.Spec)
}

// encodeJob writes one line in the fixed order: nulls written, nothing escaped
// that JSON does not force, config keys in UTF-16 order. encoding/json would
// escape U+2028 and spell control characters differently than Jackson.
func encodeJob(r spec.Record, j spec.Job) string {
	b := make([]byte, 0, 512)
	b = appendText(append(b, `{"jobName":`...), j.Name)
	b = appendText(append(b, `,"tenant":`...), r.Tenant)
	b = appendText(append(b, `,"pipelineFactory":`...), j.Factory)
	b = append(b, `,"config":{`...)
	for i, k := range j.ConfigKeys() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, k), ':')
		b = appendText(b, j.Config[k])
	}
	b = strconv.AppendInt(append(b, `},"parallelism":`...), int64(j.Parallelism), 10)
	b = strconv.AppendInt(append(b, `,"version":`...), r.Version, 10)
	b = appendNullable(append(b, `,"description":`...), j.Description)
	b = appendNullable(append(b, `,"updatedBy":`...), r.UpdatedBy)
	b = strconv.AppendInt(append(b, `,"updatedAt":`...), r.UpdatedAt, 10)
	b = appendNullable(append(b, `,"specHash":`...), j.SpecHash(r.Tenant))
	return string(append(b, '}'))
}

func appendNullable(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendText(b, s)
}

// appendText appends s as a JSON string: raw UTF-8, only the quote, the backslash
// and control characters escaped; broken UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		case c >= '\b' && c <= '\r' && c != '\v':
			b = append(b, '\\', "btn\vfr"[c-'\b'])
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
	}
	return append(b, '"')
}

// decodeJob reads a job's record, ours or Java's: a field may be absent or null,
// and unknown ones are ignored. The hash field's name is the job's.
func decodeJob(tenant, name, raw string, suspend bool) (spec.Record, error) {
	var w wireJob
	if err := json.Unmarshal([]byte(raw), &w); err != nil {
		return spec.Record{}, unreadable(tenant, name, err)
	}
	if w.Config == nil {
		w.Config = map[string]string{}
	}
	job := spec.Job{Name: name, Factory: w.PipelineFactory, Config: w.Config, Parallelism: w.Parallelism,
		Suspend: suspend, Description: deref(w.Description)}
	return spec.Record{Tenant: tenant, Key: job.Key(), Spec: job, Version: w.Version, UpdatedBy: deref(w.UpdatedBy),
		UpdatedAt: w.UpdatedAt, SpecHash: deref(w.SpecHash), Raw: raw}, nil
}

// unreadable says which record cannot be read without a word of its content,
// for an error of encoding/json may quote it.
func unreadable(tenant, name string, err error) error {
	why := "not JSON"
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		kind, _, _ := strings.Cut(t.Value, " ") // "number 12.5" would show the value
		why = "field " + strconv.QuoteToASCII(t.Field) + " holds a wrong type (" + kind + ")"
	}
	return fmt.Errorf("stored record of %s/%s is unreadable: %s", tenant, name, why)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
