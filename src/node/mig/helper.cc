#include "src/node/mig/helper.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <array>

#include "src/gpu/device/ids.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::mig {
namespace {

namespace json = boost::json;

constexpr char kRequest[] = "MIG request";
constexpr char kReply[] = "MIG reply";
constexpr size_t kMostListed = 128;
constexpr int64_t kMostSmall = 1023;  // ids and memory slices

// In the order of the enums.
constexpr std::array<std::string_view, 6> kSteps = {"plan",   "change", "make",
                                                    "remove", "empty",  "timeSlice"};
constexpr std::array<std::string_view, 6> kOutcomes = {"done", "waits",  "infeasible",
                                                       "busy", "failed", "undone"};

std::string Line(const json::object& message) {
  return doc::PrintLine(message) + "\n";
}

void CheckGpu(doc::Fields& fields, std::string_view key, const std::string& gpu) {
  if (const auto uuid = device::GpuUuid::Parse(gpu); !uuid.ok()) {
    fields.Fail(key, Message(uuid.status()));
  }
}

StatusOr<HelperHost> ReadHost(const json::value& tree) {
  doc::Fields fields(tree, fmt::format("{}.host", kRequest));
  HelperHost host{.host_root = fields.Text("hostRoot"),
                  .driver_root = fields.Text("driverRoot"),
                  .engine_root = fields.Text("engineRoot"),
                  .nvml_library = fields.Text("nvmlLibrary"),
                  .probe = fields.Text("probe"),
                  .kubelet_dir = fields.Text("kubeletDir")};
  RETURN_IF_ERROR(fields.status());
  return host;
}

// An empty list if the field is none, which is an error.
json::array ListOf(doc::Fields& fields, std::string_view key) {
  const json::array* list = fields.Get(key).if_array();
  if (list == nullptr || list->size() > kMostListed) {
    fields.Fail(key, "must be a list of GPUs");
    return {};
  }
  return *list;
}

bool IsOfLayouts(Step step) {
  return step == Step::kPlan || step == Step::kChange;
}

std::optional<unsigned> ReadSmall(doc::Fields& fields, std::string_view key) {
  const int64_t number = fields.Number(key);
  if (number < 0 || number > kMostSmall) {
    fields.Fail(key, "must be a small number");
    return std::nullopt;
  }
  return static_cast<unsigned>(number);
}

StatusOr<ClaimPlace> ReadPlace(const json::value& tree) {
  doc::Fields fields(tree, fmt::format("{}.place", kRequest));
  ClaimPlace place{.profile = fields.Text("profile"),
                   .start = ReadSmall(fields, "start").value_or(0)};
  if (fields.Has("gpuInstance")) {
    place.gpu_instance = ReadSmall(fields, "gpuInstance");
  }
  RETURN_IF_ERROR(fields.status());
  return place;
}

StatusOr<MadeDevice> ReadMade(const json::value& tree) {
  doc::Fields fields(tree, fmt::format("{}.made", kReply));
  MadeDevice made{.uuid = fields.Text("uuid"),
                  .gpu_instance = ReadSmall(fields, "gpuInstance").value_or(0),
                  .compute_instance = ReadSmall(fields, "computeInstance").value_or(0)};
  RETURN_IF_ERROR(fields.status());
  return made;
}

json::object PlaceJson(const ClaimPlace& place) {
  json::object object = {{"profile", place.profile}, {"start", place.start}};
  if (place.gpu_instance) {
    object["gpuInstance"] = *place.gpu_instance;
  }
  return object;
}

}  // namespace

std::string PrintRequest(const HelperRequest& request) {
  const HelperHost& host = request.host;
  json::object message = {{"step", doc::View(kSteps.at(static_cast<size_t>(request.step)))},
                          {"layout", request.layout.instances},
                          {"select", request.layout.named},
                          {"config", request.layout.configs_file},
                          {"gpus", doc::Texts(request.gpus)},
                          {"host", json::object{{"hostRoot", host.host_root},
                                                {"driverRoot", host.driver_root},
                                                {"engineRoot", host.engine_root},
                                                {"nvmlLibrary", host.nvml_library},
                                                {"probe", host.probe},
                                                {"kubeletDir", host.kubelet_dir}}}};
  if (request.place) {
    message["place"] = PlaceJson(*request.place);
  }
  if (request.step == Step::kTimeSlice) {
    message["timeSlice"] = request.time_slice;
  }
  return Line(message);
}

std::string PrintReply(const HelperReply& reply) {
  json::array changes;
  for (const HelperReply::Change& change : reply.changes) {
    changes.push_back(json::object{{"gpu", change.gpu}, {"changesMode", change.changes_mode}});
  }
  json::array waiting;
  for (const HelperReply::Waiting& one : reply.waiting) {
    waiting.push_back(json::object{{"gpu", one.gpu}, {"reason", one.reason}});
  }
  json::object message = {{"outcome", doc::View(kOutcomes.at(static_cast<size_t>(reply.outcome)))},
                          {"reason", reply.reason},
                          {"changes", std::move(changes)},
                          {"waiting", std::move(waiting)}};
  if (reply.made) {
    message["made"] = json::object{{"uuid", reply.made->uuid},
                                   {"gpuInstance", reply.made->gpu_instance},
                                   {"computeInstance", reply.made->compute_instance}};
  }
  return Line(message);
}

StatusOr<HelperRequest> ParseRequest(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(text, doc::Format::kJson, kRequest));
  doc::Fields fields(tree, kRequest);
  HelperRequest request;
  request.step = static_cast<Step>(fields.Word("step", kSteps));
  request.layout = {.instances = fields.Text("layout"),
                    .named = fields.Text("select"),
                    .configs_file = fields.Text("config")};
  if (IsOfLayouts(request.step) &&
      request.layout.instances.empty() == request.layout.named.empty()) {
    fields.Fail("layout", "set either this or select");
  }
  const bool needs_place = request.step == Step::kMake || request.step == Step::kRemove;
  const json::value* place = needs_place ? &fields.Get("place") : nullptr;
  request.gpus = fields.Texts("gpus");
  if (request.gpus.empty() || request.gpus.size() > kMostListed ||
      (!IsOfLayouts(request.step) && request.gpus.size() > 1)) {
    fields.Fail("gpus", "must be a list of GPUs, or one");
  }
  for (const std::string& gpu : request.gpus) {
    CheckGpu(fields, "gpus", gpu);
  }
  if (request.step == Step::kTimeSlice) {
    request.time_slice = ReadSmall(fields, "timeSlice").value_or(0);
  }
  const json::value& host = fields.Get("host");
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(request.host, ReadHost(host));
  if (place != nullptr) {
    ASSIGN_OR_RETURN(request.place, ReadPlace(*place));
  }
  return request;
}

StatusOr<HelperReply> ParseReply(std::string_view text) {
  text = text.substr(0, text.rfind('\n') + 1);  // nothing if there is no complete line
  if (text.empty()) {
    return InvalidArgument("{}: is missing", kReply);
  }
  text.remove_suffix(1);
  const std::string_view line = text.substr(text.rfind('\n') + 1);
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(line, doc::Format::kJson, kReply));
  doc::Fields fields(tree, kReply);
  HelperReply reply;
  reply.outcome = static_cast<Outcome>(fields.Word("outcome", kOutcomes));
  reply.reason = fields.Text("reason");
  for (const json::value& item : ListOf(fields, "changes")) {
    doc::Fields change(item, fmt::format("{}.changes", kReply));
    reply.changes.push_back(
        {.gpu = change.Text("gpu"), .changes_mode = change.Bool("changesMode")});
    RETURN_IF_ERROR(change.status());
  }
  for (const json::value& item : ListOf(fields, "waiting")) {
    doc::Fields waiting(item, fmt::format("{}.waiting", kReply));
    reply.waiting.push_back({.gpu = waiting.Text("gpu"), .reason = waiting.Text("reason")});
    RETURN_IF_ERROR(waiting.status());
  }
  RETURN_IF_ERROR(fields.status());
  if (fields.Has("made")) {
    ASSIGN_OR_RETURN(reply.made, ReadMade(fields.Get("made")));
  }
  return reply;
}

HelperReply ReplyOf(const Status& error) {
  const bool is_busy = error.code() == StatusCode::kUnavailable ||
                       error.code() == StatusCode::kDeadlineExceeded ||
                       error.code() == StatusCode::kResourceExhausted;
  return {.outcome = is_busy ? Outcome::kBusy : Outcome::kFailed,
          .reason = std::string(Message(error))};
}

}  // namespace kgpu::mig
