package specfile

import (
	"github.com/pawl-dev/pawl/gid"
	"github.com/pawl-dev/pawl/spec"
)

func jobFields() []field {
	return []field{
		must(textField("pipelineFactory", word(), "The pipeline factory that an agent launches the job through.")),
		wholeField("parallelism", 1, spec.MaxParallelism, 1, "How many instances run."),
		flagField("suspend", "true = the job is stopped, by Git."),
		textField("description", prose(), "What the job does."),
		{"config", false, shape{kind: table, nullable: true,
			doc: "Strings for the factory. A key that begins with secret. holds a reference: env:NAME, sys:NAME or file:PATH."}},
	}
}

func subscriptionFields() []field {
	return []field{
		must(objectField("kollex", "The Kollex that is subscribed to.",
			must(textField("id", targetID(false, gid.Kollex), "Its id, such as NT:1-K0001.")),
			textField("name", word(), "Its name."),
			builtinField(), imageTagField())),
		episodesField(targetID(false, gid.Episode)),
		dramasField(targetID(false, gid.Drama)),
		externalField(targetID(false, gid.Episode, gid.Drama)),
	}
}

func kollexFields() []field {
	return []field{
		must(textField("id", targetID(true, gid.Kollex), "Its id without a Pavilion, such as K0001.")),
		builtinField(), imageTagField(),
		episodesField(targetID(true, gid.Episode)),
		dramasField(targetID(true, gid.Drama)),
		externalField(targetID(true, gid.Episode, gid.Drama)),
	}
}

func builtinField() field {
	return flagField("builtin", "The platform itself is made of it: deploying it upgrades the platform.")
}

func imageTagField() field {
	return textField("imageTag", tagRule(), "The tag of images that have none, and the version that is expected to run.")
}

func episodesField(id rule) field {
	return listField("episodes", shape{kind: object, fields: []field{
		must(textField("id", id, "Its id: E and four of 0-9 A-Z a-z.")),
		must(textField("name", label(), "Its name.")),
		port("The port that it listens on."),
		must(textField("image", imageRule(), "Its image; without a tag imageTag is used.")),
	}}, "What users see.")
}

func dramasField(id rule) field {
	return listField("dramas", shape{kind: object, fields: []field{
		must(textField("id", id, "Its id: D and four of 0-9 A-Z a-z.")),
		must(textField("service", label(), "The name of the service.")),
		must(port("The port that it listens on.")),
		must(textField("roleId", word(), "The role that it acts in.")),
		must(textField("image", imageRule(), "Its image; without a tag imageTag is used.")),
		flagField("self", "The platform's own Drama; at most one."),
	}}, "The services behind the Episodes.")
}

func externalField(id rule) field {
	return texts("externalTargetIds", id, "Targets that run elsewhere: no manifest, but still part of the events.")
}

func pavilionFields(platform bool) []field {
	source := objectField("source", "Where the specs of the tenant are.",
		textField("url", address(), "The address of the Git repository."),
		presetText("branch", word(), spec.DefaultBranch, "The branch that is followed."),
		presetText("path", folder(), spec.DefaultPath, "The folder below which specs are looked for."),
		spanField("interval", spec.DefaultInterval.String(), false, "How often the branch is looked at."),
		presetText("history", commit("full", "head"), spec.DefaultHistory, "full = from the first commit, head = from now on, a commit = from there."),
		choice("onRewrite", spec.DefaultOnRewrite, "What happens after a force-push.", "follow", "hold"),
		authField())
	if platform {
		source = must(source)
		source.fields[0] = must(source.fields[0])
	}
	return []field{
		must(textField("id", pavilionID(), "The id of the Pavilion, such as NT:1.")),
		must(textField("cid", cid(), "The customer id: four of A-Z 0-9.")),
		flagField("suspend", "Pauses the whole tenant."),
		source,
		objectField("manifests", "Where rendered manifests go.",
			textField("url", address(), "The address of the Git repository."),
			presetText("branch", word(), spec.DefaultBranch, "The branch that is written."),
			presetText("path", folder(), spec.DefaultPath, "The folder that is written."),
			textField("namespace", label(), "The Kubernetes namespace; the tenant's name if left out."),
			spanField("externalGrace", "10m", true, "How long a target that became external is kept.")),
		objectField("guard", "What one commit may remove.",
			wholeField("maxRemovePercent", 1, 100, spec.DefaultMaxRemovePercent, "A commit that removes more is held until it is approved.")),
		verifyField(),
		listField("policy", policyShape(), "Who may do what; empty = everybody everything."),
		presetText("enforceFrom", commit(""), "", "guard, verify and policy bind commits after this one; empty = after the first sync."),
		texts("approved", commit(), "Commits that are let through."),
		choice("drift", spec.DefaultDrift, "What happens when the store was changed by hand.", "report", "heal"),
		flagField("allowSelf", "Documents of the tenant may set builtin and self."),
	}
}

func verifyField() field {
	return objectField("verify", "Which signatures are asked for.",
		choice("mode", "none", "none, any trusted signature, or one of the author.", "none", "signed", "author"),
		texts("keyrings", filePath(), "Files of OpenPGP keys."),
		presetText("allowedSigners", rule{max: 4096, check: func(s string) error { return printable(s, false) }}, "", "A file of SSH keys, as ssh-keygen reads it."),
		texts("forges", word(), "Forges whose signature on merges counts."))
}

func policyShape() shape {
	return shape{kind: object, fields: []field{
		objectField("who", "Whom it is about; nothing = anybody.",
			textField("name", glob(), "A pattern for the author's name."),
			textField("mail", glob(), "A pattern for the author's mail."),
			textField("signer", glob(), "A pattern for the verified signer.")),
		texts("ops", oneOf(string(spec.OpSubmit), string(spec.OpUpgrade), string(spec.OpRollback),
			string(spec.OpStop), string(spec.OpResume), string(spec.OpReport)), "What they may do; empty = everything."),
		textField("jobs", glob(), "A pattern for the names of jobs."),
	}}
}

func agentFields() []field {
	return []field{
		texts("tenants", glob(), "Patterns for the tenants whose jobs it runs; empty = all."),
		wholeField("capacity", 1, 100000, spec.DefaultCapacity, "How many jobs it runs at most."),
		spanField("takeoverAfter", "6m", true,
			"How long after its lease lapsed a job may be taken by another agent; 0 = never."),
		listField("factories", factoryShape(), "The pipeline factories that it offers."),
	}
}

func factoryShape() shape {
	command := must(texts("command", prose(), "Program and arguments; no shell."))
	return shape{kind: object, fields: []field{
		must(textField("name", word(), "The name that jobs give as pipelineFactory.")),
		objectField("process", "Runs a job as child processes.", command,
			field{"env", false, shape{kind: table, hidden: true, doc: "Further environment variables."}},
			flagField("wire", "It speaks the runner wire on stdin and stdout."),
			spanField("grace", spec.DefaultGrace.String(), true, "Time between SIGTERM and SIGKILL.")),
		objectField("stream", "Runs a job in the embedded pipeline engine."),
		objectField("kubernetes", "Runs a job as a Deployment.",
			textField("namespace", label(), "The namespace of the Deployment."),
			must(textField("image", imageRule(), "The image, with a tag or a digest."))),
	}}
}
