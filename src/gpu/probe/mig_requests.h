// Requests to the probe that read and change MIG layouts. Each is one change in the driver; changes
// need root, and a GPU without users. Answers come as those of Client.
#pragma once

#include <vector>

#include "src/gpu/probe/client.h"
#include "src/gpu/probe/decode_mig.h"
#include "src/gpu/probe/mig_protocol.h"

namespace kgpu::probe {

struct Done {};

// The profiles of a GPU with their placements, also while MIG is off.
void ReadMigProfiles(Client& client, unsigned gpu,
                     AnswerTask<std::vector<device::MigProfile>> done);
// The GPU instances and their compute instances, also those without compute instances.
void ReadMigLayout(Client& client, unsigned gpu, AnswerTask<MigLayoutReport> done);
// Turning MIG on or off may reset the GPU, which takes seconds: the deadline is a minute.
void SetMigMode(Client& client, unsigned gpu, bool is_enabled, AnswerTask<MigModeReport> done);
void CreateGpuInstance(Client& client, unsigned gpu, const MigPlace& place,
                       AnswerTask<CreatedInstance> done);
void DestroyGpuInstance(Client& client, unsigned gpu, unsigned id, AnswerTask<Done> done);
// The value is the compute instance's id.
void CreateComputeInstance(Client& client, unsigned gpu, unsigned gpu_instance, unsigned slices,
                           AnswerTask<unsigned> done);
void DestroyComputeInstance(Client& client, unsigned gpu, unsigned gpu_instance, unsigned id,
                            AnswerTask<Done> done);

}  // namespace kgpu::probe
