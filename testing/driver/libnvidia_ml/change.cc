#include "testing/driver/libnvidia_ml/change.h"

#include <cstdlib>

namespace kgpu::sim {
namespace {

// absl::StatusCode, of which this library has no header.
Return FromStatusCode(int code) {
  switch (code) {
    case 0:
      return nvml::kSuccess;
    case 3:  // InvalidArgument
      return nvml::kErrorInvalidArgument;
    case 5:  // NotFound
      return nvml::kErrorNotFound;
    case 6:  // AlreadyExists
      return nvml::kErrorInsufficientResources;
    case 7:   // PermissionDenied
    case 16:  // Unauthenticated
      return nvml::kErrorNoPermission;
    case 8:  // ResourceExhausted
      return nvml::kErrorInsufficientResources;
    case 9:  // FailedPrecondition
      return nvml::kErrorInUse;
    case 12:  // Unimplemented
      return nvml::kErrorNotSupported;
    default:
      return nvml::kErrorUnknown;
  }
}

}  // namespace

Return ChangeSlot(const char* name, uint32_t slot, const char* verb, const char* arguments,
                  Made* made) {
  char uuid[sizeof(SimGpu::uuid)] = {};
  char root[PATH_MAX];
  Return result = SlotCall(name, slot, [&](const Session& session, const SimState& state) {
    memcpy(root, session.root, sizeof(root));
    return PutText(state.gpus[slot].uuid, uuid, sizeof(uuid));
  });
  if (result != nvml::kSuccess) {
    return result;
  }
  char line[256];
  (void)snprintf(line, sizeof(line), "%s %s %s", verb, uuid, arguments);
  Made answer{};
  Return changed = FromStatusCode(RunCommand(root, line, answer.text, sizeof(answer.text)));
  if (made != nullptr) {
    *made = answer;
  }
  return changed;
}

uint32_t NumberAfter(const Made& made, const char* word) {
  const char* at = strstr(made.text, word);
  if (at == nullptr || at[strlen(word)] != ' ') {
    return kUnsupported;
  }
  return static_cast<uint32_t>(strtoul(at + strlen(word) + 1, nullptr, 10));
}

Return ChangeGpu(const char* name, Device device, const char* verb, const char* arguments) {
  Target target;
  Return result = CheckArguments(true, device, target);
  if (result != nvml::kSuccess) {
    return result;
  }
  if (target.is_mig) {
    return nvml::kErrorNotSupported;
  }
  return ChangeSlot(name, target.slot, verb, arguments);
}

}  // namespace kgpu::sim
