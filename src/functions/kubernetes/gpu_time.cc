#include "src/functions/kubernetes/gpu_time.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <utility>

#include "src/functions/kubernetes/resources.h"
#include "src/functions/manifests/objects.h"
#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr std::chrono::minutes kWriteUseEvery{1};
constexpr size_t kMaxDayBytes = size_t{64} << 10;

Day DayOf(WallTime time) {
  return std::chrono::floor<std::chrono::days>(time);
}

std::string DayText(Day day) {
  constexpr size_t kDate = 10;  // "2026-01-31"
  return FormatTime(day).substr(0, kDate);
}

std::optional<Day> ParseDay(std::string_view text) {
  const StatusOr<WallTime> time = ParseTime(std::string(text) + "T00:00:00Z");
  return time.ok() ? std::optional(DayOf(*time)) : std::nullopt;
}

GpuSeconds ParseSpaces(std::string_view text) {
  GpuSeconds used;
  const StatusOr<json::value> root = doc::ParseJson(text, kUsageConfigMap, {.bytes = kMaxDayBytes});
  if (!root.ok() || !root->is_object()) {
    return used;
  }
  for (const auto& [space, value] : root->get_object()) {
    boost::system::error_code error;
    const double number = value.to_number<double>(error);
    if (!error && number >= 0) {
      used.emplace(std::string(space), number);
    }
  }
  return used;
}

void AddUse(DailyUse& to, const DailyUse& more) {
  for (const auto& [day, spaces] : more) {
    for (const auto& [space, used] : spaces) {
      to[day][space] += used;
    }
  }
}

double UseOn(const DailyUse& use, Day day, const std::string& space) {
  const auto of_day = use.find(day);
  if (of_day == use.end()) {
    return 0;
  }
  const auto used = of_day->second.find(space);
  return used == of_day->second.end() ? 0 : used->second;
}

}  // namespace

json::object PrintUse(const DailyUse& use) {
  json::object data;
  for (const auto& [day, spaces] : use) {
    json::object by_space;
    for (const auto& [space, number] : spaces) {
      by_space[space] = number;
    }
    data[DayText(day)] = doc::PrintLine(by_space);
  }
  return data;
}

DailyUse ParseUse(const json::value& config_map) {
  DailyUse use;
  const json::value* data = kube::FindField(config_map, {"data"});
  if (data == nullptr || !data->is_object()) {
    return use;
  }
  for (const auto& [name, value] : data->get_object()) {
    const std::optional<Day> day = ParseDay({name.data(), name.size()});
    const json::string* text = value.if_string();
    if (day && text != nullptr) {
      use[*day] = ParseSpaces({text->data(), text->size()});
    }
    if (use.size() > static_cast<size_t>(kUsageKept.count())) {
      use.erase(use.begin());
    }
  }
  return use;
}

GpuTimeRecord::GpuTimeRecord(EventLoop& loop, kube::Client& client, Random& random,
                             std::string space, std::function<void()> changed)
    : loop_(loop),
      client_(client),
      space_(std::move(space)),
      changed_(std::move(changed)),
      timer_(loop) {
  kube::ReflectorOptions follow;
  follow.selection = {.path = kConfigMaps.Collection(space_),
                      .field_selector = std::string("metadata.name=") + kUsageConfigMap};
  reflector_ = std::make_unique<kube::Reflector>(
      loop_, client_, random, std::move(follow),
      kube::ReflectorHandlers{
          .on_changed = [this](const kube::ObjectPtr& object) { OnConfigMap(object); },
          .on_gone =
              [this](const kube::ObjectPtr&) {
                read_.clear();
                version_.clear();
                changed_();
              },
          .on_synced = [this] { changed_(); }});
}

GpuTimeRecord::~GpuTimeRecord() = default;

void GpuTimeRecord::OnConfigMap(const kube::ObjectPtr& object) {
  if (call_ != nullptr) {
    return;  // perhaps what is being written: it would count twice
  }
  read_ = ParseUse(*object);
  version_ = kube::VersionOf(*object);
  changed_();
}

void GpuTimeRecord::Add(const std::string& space, double gpu_seconds) {
  if (gpu_seconds <= 0) {
    return;
  }
  added_[DayOf(loop_.clock().WallNow())][space] += gpu_seconds;
  ArmWrite();
}

void GpuTimeRecord::ArmWrite() {
  if (!timer_.is_armed()) {
    timer_.Arm(kWriteUseEvery, [this] { Write(); });
  }
}

double GpuTimeRecord::Today(const std::string& space) const {
  const Day today = DayOf(loop_.clock().WallNow());
  return UseOn(read_, today, space) + UseOn(writing_, today, space) + UseOn(added_, today, space);
}

void GpuTimeRecord::Write() {
  if (call_ != nullptr || !reflector_->is_synced()) {
    return ArmWrite();
  }
  DailyUse sum = read_;
  AddUse(sum, added_);
  std::erase_if(sum, [oldest = DayOf(loop_.clock().WallNow()) - kUsageKept](const auto& of_day) {
    return of_day.first <= oldest;
  });
  json::object object = {{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata",
                          {{"name", kUsageConfigMap},
                           {"namespace", space_},
                           {"labels", {{kManagedByLabel, kGatewayManager}}}}},
                         {"data", PrintUse(sum)}};
  StatusOr<kube::ApiRequest> request = kube::CreateRequest(kConfigMaps.Collection(space_), object);
  if (!version_.empty()) {
    object["metadata"].as_object()["resourceVersion"] = version_;
    request = kube::ReplaceRequest(kConfigMaps.Object(space_, kUsageConfigMap), object);
  }
  if (!request.ok()) {
    return;
  }
  writing_ = std::exchange(added_, {});
  call_ = client_.Send(*std::move(request), [this, sum](const StatusOr<json::value>& answer) {
    const auto ended = std::move(call_);
    if (answer.ok()) {
      read_ = sum;
      version_ = kube::VersionOf(*answer);
      writing_.clear();
      return;
    }
    // Somebody else wrote it, or nobody answers: what was added is written with the next try.
    KGPU_LOG(kInfo, "GPU time not written", {"reason", Message(answer.status())});
    AddUse(added_, std::exchange(writing_, {}));
    if (!reflector_->objects().empty()) {
      OnConfigMap(reflector_->objects().begin()->second);
    }
    ArmWrite();
  });
}

}  // namespace kgpu::functions
