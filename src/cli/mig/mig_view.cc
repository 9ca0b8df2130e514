#include "src/cli/mig/mig_view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// A profile that fits beside the instances, and its free starts.
struct Addable {
  std::string profile;
  std::vector<unsigned> starts;
};

std::vector<Addable> AddableTo(const mig::HostGpu& gpu) {
  mig::Taken taken;
  for (const probe::GpuInstanceReport& instance : gpu.instances) {
    if (const auto profile = gpu.geometry->FindById(instance.profile_id)) {
      gpu.geometry->Take(taken, {.profile = *profile, .start = instance.start});
    }
  }
  std::vector<Addable> addable;
  for (size_t i = 0; i < gpu.geometry->profiles().size(); ++i) {
    std::vector<unsigned> starts = gpu.geometry->FreeStarts(taken, i);
    if (!starts.empty()) {
      addable.push_back({gpu.geometry->profiles()[i].name, std::move(starts)});
    }
  }
  return addable;
}

std::string UsersText(const mig::HostGpu& gpu, std::optional<unsigned> instance) {
  const std::vector<const mig::User*> users = mig::UsersOf(gpu, instance);
  std::vector<std::string> texts;
  texts.reserve(users.size());
  for (const mig::User* user : users) {
    texts.push_back(user->text);
  }
  return Join(texts, ", ");
}

std::string ModeText(const mig::HostGpu& gpu) {
  if (!gpu.mode) {
    return "no MIG";
  }
  const std::string_view now = gpu.mode->is_enabled ? "MIG on" : "MIG off";
  return gpu.mode->is_enabled == gpu.mode->is_pending_enabled
             ? std::string(now)
             : fmt::format("{}, {} after a reset", now,
                           gpu.mode->is_pending_enabled ? "on" : "off");
}

std::string InstanceLine(const mig::HostGpu& gpu, const probe::GpuInstanceReport& report) {
  const auto instance = mig::InstanceOf(*gpu.geometry, report);
  const std::string users = UsersText(gpu, report.id);
  return fmt::format(
      "  {:<18} slices {}-{}  GI {:<3} {}\n",
      instance.ok() ? KindText(instance->kind) : fmt::format("profile {}", report.profile_id),
      report.start, report.start + report.size - 1, report.id,
      users.empty() ? "idle" : "in use: " + users);
}

json::object InstanceJson(const mig::Instance& instance) {
  json::object object{{"profile", instance.kind.profile}, {"start", instance.start}};
  if (!instance.kind.compute.empty()) {
    object["compute"] = json::array(instance.kind.compute.begin(), instance.kind.compute.end());
  }
  return object;
}

json::array InstancesJson(const std::vector<mig::Instance>& instances) {
  json::array list;
  for (const mig::Instance& instance : instances) {
    list.push_back(InstanceJson(instance));
  }
  return list;
}

std::string StepsText(const mig::GpuChange& change, const std::string& gpu) {
  std::string text;
  for (const mig::Instance& instance : change.destroy) {
    text +=
        fmt::format("GPU {}: destroy {} at memory slice {}{}\n", gpu, KindText(instance.kind),
                    instance.start, instance.use == mig::Use::kMovable ? ", which is in use" : "");
  }
  if (change.keeps_mode) {
    text += fmt::format("GPU {}: keep MIG {} at the next reset\n", gpu,
                        change.disables_mig ? "off" : "on");
  } else if (change.enables_mig || change.disables_mig) {
    text += fmt::format("GPU {}: turn MIG {}\n", gpu, change.disables_mig ? "off" : "on");
  }
  for (const mig::Instance& instance : change.create) {
    text += fmt::format("GPU {}: create {} at memory slice {}\n", gpu, KindText(instance.kind),
                        instance.start);
  }
  return text;
}

std::string CountOf(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string DestroyedText(size_t count) {
  return count == 0 ? "no instance" : CountOf(count, "instance");
}

}  // namespace

std::string MigListText(const std::vector<mig::HostGpu>& gpus) {
  std::string text;
  for (const mig::HostGpu& gpu : gpus) {
    text += fmt::format("GPU {}  {}  {}\n", gpu.index, gpu.model, ModeText(gpu));
    if (gpu.geometry == nullptr) {
      continue;
    }
    for (const probe::GpuInstanceReport& report : gpu.instances) {
      text += InstanceLine(gpu, report);
    }
    if (gpu.is_mig_enabled() && gpu.instances.empty()) {
      text += "  no instances: no program can use the GPU\n";
    }
    if (const std::string users = UsersText(gpu, std::nullopt);
        !gpu.is_mig_enabled() && !users.empty()) {
      text += fmt::format("  in use: {}\n", users);
    }
    const std::vector<Addable> addables = AddableTo(gpu);
    std::vector<std::string> room;
    room.reserve(addables.size());
    for (const Addable& addable : addables) {
      room.push_back(fmt::format("{} at {}", addable.profile, fmt::join(addable.starts, ",")));
    }
    text += fmt::format("  room for  {}\n", room.empty() ? "nothing more" : Join(room, "; "));
  }
  return text.empty() ? "no GPU\n" : text;
}

json::object MigListJson(const std::vector<mig::HostGpu>& gpus) {
  json::array list;
  for (const mig::HostGpu& gpu : gpus) {
    json::object object{{"index", gpu.index},
                        {"uuid", gpu.uuid.str()},
                        {"model", gpu.model},
                        {"migCapable", gpu.geometry != nullptr},
                        {"migEnabled", gpu.is_mig_enabled()}};
    if (gpu.mode) {
      object["migEnabledAfterReset"] = gpu.mode->is_pending_enabled;
    }
    json::array instances;
    json::array room;
    for (const probe::GpuInstanceReport& report : gpu.instances) {
      const auto instance = mig::InstanceOf(*gpu.geometry, report);
      json::object entry = instance.ok() ? InstanceJson(*instance) : json::object();
      entry["id"] = report.id;
      entry["size"] = report.size;
      json::array users;
      for (const mig::User* user : mig::UsersOf(gpu, report.id)) {
        users.push_back(json::value(user->text));
      }
      entry["users"] = std::move(users);
      instances.push_back(std::move(entry));
    }
    if (gpu.geometry != nullptr) {
      for (const Addable& addable : AddableTo(gpu)) {
        room.push_back(
            json::object{{"profile", addable.profile},
                         {"starts", json::array(addable.starts.begin(), addable.starts.end())}});
      }
    }
    object["instances"] = std::move(instances);
    object["room"] = std::move(room);
    list.push_back(std::move(object));
  }
  return {{"gpus", std::move(list)}};
}

std::string MigPlanText(const mig::Plan& plan, const std::vector<std::string>& gpus) {
  if (!plan.is_feasible) {
    return fmt::format("infeasible: {}{}\n", plan.reason, plan.is_proven ? "" : " (not proven)");
  }
  std::string waiting;
  for (const std::string& reason : plan.waiting) {
    waiting += fmt::format("waits: {}\n", reason);
  }
  if (plan.changes.empty()) {
    return waiting.empty() ? "feasible: no change is needed\n" : waiting;
  }
  std::string text = fmt::format("feasible: changes {}, destroys {}{}{}\n",
                                 CountOf(plan.changes.size(), "GPU"), DestroyedText(plan.destroyed),
                                 plan.evicted == 0 ? "" : fmt::format(", {} in use", plan.evicted),
                                 plan.is_proven ? "" : " (there may be a better plan)");
  for (const mig::GpuChange& change : plan.changes) {
    text += StepsText(change, gpus[change.gpu]);
  }
  return text + waiting;
}

json::object MigPlanJson(const mig::Plan& plan, const std::vector<std::string>& gpus,
                         const std::vector<std::string>& uuids) {
  json::array changes;
  for (const mig::GpuChange& change : plan.changes) {
    json::object object{{"gpu", gpus[change.gpu]},
                        {"enablesMig", change.enables_mig},
                        {"disablesMig", change.disables_mig},
                        {"keepsMode", change.keeps_mode},
                        {"destroy", InstancesJson(change.destroy)},
                        {"create", InstancesJson(change.create)},
                        {"layout", InstancesJson(change.layout)}};
    if (!uuids.empty()) {
      object["uuid"] = uuids[change.gpu];
    }
    changes.emplace_back(std::move(object));
  }
  json::array waiting;
  for (size_t i = 0; i < plan.waiting_gpus.size() && !uuids.empty(); ++i) {
    waiting.push_back(
        json::object{{"uuid", uuids[plan.waiting_gpus[i]]}, {"reason", plan.waiting[i]}});
  }
  return {{"feasible", plan.is_feasible},
          {"proven", plan.is_proven},
          {"reason", plan.reason},
          {"destroyed", plan.destroyed},
          {"evicted", plan.evicted},
          {"changes", std::move(changes)},
          {"waiting", doc::Texts(plan.waiting)},
          {"waitingGpus", std::move(waiting)}};
}

std::string MigTargetsText(const std::vector<mig::Target>& targets) {
  std::string text;
  for (const mig::Target& target : targets) {
    text += fmt::format("{}: {}\n", target.uuid.str(), mig::StateText(target));
  }
  return text;
}

json::object MigTargetsJson(const std::vector<mig::Target>& targets) {
  json::array list;
  for (const mig::Target& target : targets) {
    list.push_back(json::object{{"uuid", target.uuid.str()},
                                {"migEnabled", target.is_mig_enabled},
                                {"instances", InstancesJson(target.layout)}});
  }
  return {{"gpus", std::move(list)}};
}

}  // namespace kgpu::cli
