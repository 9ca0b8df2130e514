#include "src/node/mig/record.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"

namespace kgpu::mig {
namespace {

namespace json = boost::json;

constexpr size_t kMostGpus = 128;
constexpr size_t kMostInstances = 16;

json::object RecordedInstance(const Instance& instance) {
  json::array compute;
  for (const unsigned slices : instance.kind.compute) {
    compute.push_back(slices);
  }
  return {{"profile", instance.kind.profile}, {"start", instance.start}, {"compute", compute}};
}

StatusOr<Instance> ReadInstance(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  Instance instance;
  instance.kind.profile = fields.Text("profile");
  const int64_t start = fields.Number("start");
  const json::array* compute = fields.Get("compute").if_array();
  if (start < 0 || start > 31) {
    fields.Fail("start", "must be a memory slice");
  }
  if (compute == nullptr || compute->size() > kMostInstances) {
    fields.Fail("compute", "must be a list of slices");
  }
  RETURN_IF_ERROR(fields.status());
  instance.start = static_cast<unsigned>(start);
  for (const json::value& slices : *compute) {
    if (!slices.is_int64() || slices.get_int64() < 0 || slices.get_int64() > 8) {
      return InvalidArgument("{}.compute: must be a list of slices", where);
    }
    instance.kind.compute.push_back(static_cast<unsigned>(slices.get_int64()));
  }
  return instance;
}

StatusOr<Target> ReadTarget(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  const std::string uuid = fields.Text("uuid");
  const bool is_mig_enabled = fields.Bool("mig");
  const std::optional<bool> is_pending_enabled =
      fields.Has("migAfterReset") ? std::optional(fields.Bool("migAfterReset")) : std::nullopt;
  const json::array* instances = fields.Get("instances").if_array();
  if (instances == nullptr || instances->size() > kMostInstances) {
    fields.Fail("instances", "must be a list of instances");
  }
  RETURN_IF_ERROR(fields.status());
  auto parsed = device::GpuUuid::Parse(uuid);
  RETURN_IF_ERROR(Annotate(parsed.status(), "{}.uuid", where));
  Target target{.uuid = *std::move(parsed),
                .is_mig_enabled = is_mig_enabled,
                .is_pending_enabled = is_pending_enabled};
  for (size_t i = 0; i < instances->size(); ++i) {
    ASSIGN_OR_RETURN(Instance instance,
                     ReadInstance((*instances)[i], fmt::format("{}.instances[{}]", where, i)));
    target.layout.push_back(std::move(instance));
  }
  return target;
}

}  // namespace

std::string PrintRecord(const std::vector<Target>& before) {
  json::array gpus;
  for (const Target& target : before) {
    json::array instances;
    for (const Instance& instance : target.layout) {
      instances.push_back(RecordedInstance(instance));
    }
    gpus.push_back(json::object{{"uuid", target.uuid.str()},
                                {"mig", target.is_mig_enabled},
                                {"instances", std::move(instances)}});
    if (target.is_pending_enabled) {
      gpus.back().get_object()["migAfterReset"] = *target.is_pending_enabled;
    }
  }
  return change::JournalFile::Print({{"gpus", std::move(gpus)}});
}

StatusOr<std::vector<Target>> ParseRecord(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, kRecordFile.Parse(text, file));
  doc::Fields fields(tree, std::string(file));
  const json::array* gpus = fields.Get("gpus").if_array();
  if (gpus == nullptr || gpus->size() > kMostGpus) {
    fields.Fail("gpus", "must be a list of GPUs");
  }
  RETURN_IF_ERROR(fields.status());
  std::vector<Target> before;
  for (size_t i = 0; i < gpus->size(); ++i) {
    ASSIGN_OR_RETURN(Target target, ReadTarget((*gpus)[i], fmt::format("{}: gpus[{}]", file, i)));
    before.push_back(std::move(target));
  }
  return before;
}

}  // namespace kgpu::mig
