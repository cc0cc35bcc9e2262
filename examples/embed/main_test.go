package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/runner"
	"github.com/pawl-dev/pawl/spec"
	"github.com/stretchr/testify/require"
)

func TestTheStoryComesOutAsTold(t *testing.T) {
	var out bytes.Buffer
	o, err := run(t.Context(), "", &out)
	require.NoError(t, err, out.String())

	require.Equal(t, []ran{{1, 1}, {2, 3}, {3, 1}, {3, 1}}, o.Ran)
	var conflict *spec.ConflictError
	require.ErrorAs(t, o.Conflict, &conflict)
	require.Equal(t, "version 2", conflict.Have)
	require.ErrorIs(t, o.Denied, spec.ErrDenied)

	require.Len(t, o.Jobs, 1)
	job := o.Jobs[0]
	require.EqualValues(t, 3, job.Record.Version)
	require.Equal(t, bob, job.Record.UpdatedBy)
	require.True(t, job.Record.Spec.Equal(orders(1)), "the content of version 1 is back")
	require.Equal(t, spec.Running, job.Status.State)
}

func TestEveryAttemptIsAudited(t *testing.T) {
	var out bytes.Buffer
	o, err := run(t.Context(), "", &out)
	require.NoError(t, err, out.String())

	type row struct {
		actor   string
		op      spec.Op
		allowed bool
		result  spec.Result
	}
	var people []row
	reports := 0
	for _, r := range o.Audit {
		if r.Kind == spec.KindWorker {
			require.Equal(t, spec.OpReport, r.Op)
			reports++
			continue
		}
		people = append(people, row{r.Actor, r.Op, r.Allowed, r.Result})
	}
	require.Equal(t, []row{
		{alice, spec.OpSubmit, true, spec.Applied},
		{alice, spec.OpUpgrade, true, spec.Applied},
		{bob, spec.OpUpgrade, true, spec.Conflict},
		{mallory, spec.OpUpgrade, false, spec.Refused},
		{bob, spec.OpRollback, true, spec.Applied},
		{alice, spec.OpStop, true, spec.Applied},
		{alice, spec.OpResume, true, spec.Applied},
	}, people)
	require.NotZero(t, reports, "the agent's words are in the audit too")
}

func TestOnlyPeopleOfTheDomainMayChangeWhatIsThere(t *testing.T) {
	allow := onlyFrom("shop.example")
	require.NoError(t, allow(t.Context(), alice, spec.OpUpgrade, tenant, name))
	require.NoError(t, allow(t.Context(), mallory, spec.OpSubmit, tenant, name))
	require.ErrorContains(t, allow(t.Context(), mallory, spec.OpStop, tenant, name), "people of shop.example")
	require.Error(t, allow(t.Context(), "Eve <eve@notshop.example>", spec.OpUpgrade, tenant, name))
	require.Error(t, allow(t.Context(), "Eve <eve@shop.example.evil.example>", spec.OpUpgrade, tenant, name))
}

func TestAWorkerThatEndsByItselfIsAFailure(t *testing.T) {
	changed := make(chan struct{}, 1)
	l := goroutines{func(context.Context, spec.Job, int) error { return errors.New("topic is gone") }}
	c, err := l.Launch(t.Context(), runner.Task{Tenant: tenant, Job: orders(1)}, func() { changed <- struct{}{} })
	require.NoError(t, err)
	<-changed
	require.Equal(t, runner.Health{State: spec.Failed, Detail: "worker 0: topic is gone", Attempt: 1}, c.Health())
	require.NoError(t, c.Stop(t.Context()))
}

func TestStoppingWaitsForTheWorkersAsLongAsItMay(t *testing.T) {
	hold, started := make(chan struct{}), make(chan struct{}, 1)
	l := goroutines{func(context.Context, spec.Job, int) error { started <- struct{}{}; <-hold; return nil }}
	c, err := l.Launch(t.Context(), runner.Task{Tenant: tenant, Job: orders(1)}, func() {})
	require.NoError(t, err)
	<-started
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Stop(over), context.Canceled)
	close(hold)
	require.NoError(t, c.Stop(t.Context()))
}
