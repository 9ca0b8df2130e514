// The commands, each in a file of its name: every function adds its command and those below it.
// program.cc lists the top-level ones.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddAgentVerb(VerbRegistrar& verbs);
void AddCdiVerbs(VerbRegistrar& verbs);
void AddCompletionCommand(VerbRegistrar& verbs);
void AddConfigVerbs(VerbRegistrar& verbs);
void AddDevicesVerb(VerbRegistrar& verbs);
void AddDoctorVerb(VerbRegistrar& verbs);
void AddDriverVerbs(VerbRegistrar& verbs);
void AddExplainVerbs(VerbRegistrar& verbs);
void AddHealthVerbs(VerbRegistrar& verbs);
void AddHelpCommand(VerbRegistrar& verbs);
void AddLabelsVerb(VerbRegistrar& verbs);
void AddManCommand(VerbRegistrar& verbs);
void AddMetricsVerb(VerbRegistrar& verbs);
void AddNodeVerbs(VerbRegistrar& verbs);
void AddRequireVerb(VerbRegistrar& verbs);
void AddRuntimeVerbs(VerbRegistrar& verbs);
void AddSimVerb(VerbRegistrar& verbs);
void AddStatusVerb(VerbRegistrar& verbs);
void AddUsageVerb(VerbRegistrar& verbs);
void AddValidateVerb(VerbRegistrar& verbs);
void AddVersionVerb(VerbRegistrar& verbs);

// `kgpu doctor image`: checks whether an image's CUDA runs on a host.
void AddDoctorImageVerb(VerbRegistrar& verbs, CLI::App& doctor);
// `kgpu doctor manifest`: for manifests from before CDI and DRA.
void AddDoctorManifestVerb(VerbRegistrar& verbs, CLI::App& doctor);
// `kgpu driver install`, `remove`, `rollback` and `verify`.
void AddDriverInstallVerbs(CLI::App& group, VerbRegistrar& verbs);
void AddDriverVerifyVerb(CLI::App& group, VerbRegistrar& verbs);
// `kgpu node up` and `down`: turn a bare host into a GPU node, and back.
void AddNodeUpVerbs(VerbRegistrar& verbs, CLI::App& group);

}  // namespace kgpu::cli
