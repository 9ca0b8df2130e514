#include "src/gpu/probe/mig_requests.h"

#include <chrono>
#include <utility>

#include "src/gpu/nvml/error_map.h"

namespace kgpu::probe {
namespace {

// Creating an instance takes up to a second on hardware, a reset several.
constexpr std::chrono::seconds kChangeDeadline{20};
constexpr std::chrono::seconds kModeDeadline{60};
constexpr std::chrono::seconds kReadDeadline{5};

StatusOr<Done> DecodeDone(std::span<const std::byte>) {
  return Done{};
}

template <typename T>
void AskMig(Client& client, const Client::Request& request, const std::string& what,
            StatusOr<T> (*decode)(std::span<const std::byte>), AnswerTask<T> done) {
  client.Call(request, [what, decode, done = std::move(done)](const Reply& reply) {
    if (reply.result == nvml::kSuccess) {
      return done({.result = reply.result, .value = decode(reply.payload)});
    }
    done({.result = reply.result, .value = nvml::ReturnStatus(reply.result, what)});
  });
}

}  // namespace

void ReadMigProfiles(Client& client, unsigned gpu,
                     AnswerTask<std::vector<device::MigProfile>> done) {
  AskMig<std::vector<device::MigProfile>>(
      client, {.op = Op::kMigProfiles, .gpu = gpu, .deadline = kReadDeadline},
      fmt::format("MIG profiles of GPU {}", gpu), &DecodeMigProfiles, std::move(done));
}

void ReadMigLayout(Client& client, unsigned gpu, AnswerTask<MigLayoutReport> done) {
  AskMig<MigLayoutReport>(client, {.op = Op::kMigInstances, .gpu = gpu, .deadline = kReadDeadline},
                          fmt::format("MIG instances of GPU {}", gpu), &DecodeMigLayout,
                          std::move(done));
}

void SetMigMode(Client& client, unsigned gpu, bool is_enabled, AnswerTask<MigModeReport> done) {
  AskMig<MigModeReport>(
      client,
      {.op = Op::kMigSetMode, .gpu = gpu, .index = is_enabled ? 1U : 0U, .deadline = kModeDeadline},
      fmt::format("turning MIG {} on GPU {}", is_enabled ? "on" : "off", gpu), &DecodeMigMode,
      std::move(done));
}

void CreateGpuInstance(Client& client, unsigned gpu, const MigPlace& place,
                       AnswerTask<CreatedInstance> done) {
  AskMig<CreatedInstance>(
      client,
      {.op = Op::kMigCreateGpu, .gpu = gpu, .index = place.Pack(), .deadline = kChangeDeadline},
      fmt::format("creating a GPU instance with profile {} on GPU {}", place.profile_id, gpu),
      &DecodeGpuInstance, std::move(done));
}

void DestroyGpuInstance(Client& client, unsigned gpu, unsigned id, AnswerTask<Done> done) {
  AskMig<Done>(
      client, {.op = Op::kMigDestroyGpu, .gpu = gpu, .index = id, .deadline = kChangeDeadline},
      fmt::format("destroying GPU instance {} of GPU {}", id, gpu), &DecodeDone, std::move(done));
}

void CreateComputeInstance(Client& client, unsigned gpu, unsigned gpu_instance, unsigned slices,
                           AnswerTask<unsigned> done) {
  const MigPart part{.gpu_instance = gpu_instance, .number = slices};
  AskMig<unsigned>(
      client,
      {.op = Op::kMigCreateCompute, .gpu = gpu, .index = part.Pack(), .deadline = kChangeDeadline},
      fmt::format("creating a compute instance of {} slices in GPU instance {} of GPU {}", slices,
                  gpu_instance, gpu),
      &DecodeComputeInstance, std::move(done));
}

void DestroyComputeInstance(Client& client, unsigned gpu, unsigned gpu_instance, unsigned id,
                            AnswerTask<Done> done) {
  const MigPart part{.gpu_instance = gpu_instance, .number = id};
  AskMig<Done>(
      client,
      {.op = Op::kMigDestroyCompute, .gpu = gpu, .index = part.Pack(), .deadline = kChangeDeadline},
      fmt::format("destroying compute instance {} of GPU instance {} of GPU {}", id, gpu_instance,
                  gpu),
      &DecodeDone, std::move(done));
}

}  // namespace kgpu::probe
