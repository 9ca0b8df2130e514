#include "src/node/layouts/mig_layouts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <utility>

#include "src/node/layouts/helper_run.h"
#include "src/node/layouts/mig_goals.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::layouts {
namespace {

constexpr size_t kMostBegunBytes = 4096;
// How long after a start the node's labels may tell why GPUs were withdrawn before it.
constexpr std::chrono::seconds kLabelPatience{60};

std::optional<MigChanges::Begun> ReadBegun(const std::string& run_dir) {
  const auto folder = sys::Root::Open(run_dir);
  const auto text = folder.ok() ? folder->ReadFile(kMigBegunFile, kMostBegunBytes)
                                : StatusOr<std::string>(folder.status());
  if (!text.ok()) {
    return std::nullopt;
  }
  auto begun = ParseBegun(*text);
  if (!begun.ok()) {
    KGPU_LOG(kWarning, "interrupted MIG change unknown", {"reason", Message(begun.status())});
    return std::nullopt;
  }
  return *std::move(begun);
}

// Changes whenever the file does; empty: there is none.
std::string MarksOf(const sys::Root& own, const std::string& file) {
  const auto status = own.Stat(file);
  return status.ok() ? fmt::format("{} {} {}.{}", status->st_ino, status->st_size,
                                   status->st_mtim.tv_sec, status->st_mtim.tv_nsec)
                     : "";
}

std::string LabelIn(const std::map<std::string, std::string>& labels) {
  const auto found = labels.find(kMigConfigLabel);
  return found == labels.end() ? "" : found->second;
}

}  // namespace

std::vector<std::string> WithdrawnIn(const pools::Assignment& assignment) {
  std::set<std::string> gpus;
  for (const auto* resources : {&assignment.resources, &assignment.local}) {
    for (const pools::Resource& resource : *resources) {
      for (const pools::Slot& slot : resource.slots) {
        if (!slot.health.is_healthy && slot.health.reason == pools::kMigChangeReason) {
          gpus.insert(slot.gpu.str());
        }
      }
    }
  }
  return {gpus.begin(), gpus.end()};
}

std::string PrintBegun(const MigChanges::Begun& begun) {
  return mig::PrintRequest(
      {.step = mig::Step::kChange, .layout = begun.layout, .gpus = {begun.gpu}});
}

StatusOr<MigChanges::Begun> ParseBegun(std::string_view text) {
  const auto request = mig::ParseRequest(text);
  RETURN_IF_ERROR(Annotate(request.status(), "{}", kMigBegunFile));
  if (request->gpus.size() != 1) {
    return InvalidArgument("{}: gpus: must be one GPU", kMigBegunFile);
  }
  return MigChanges::Begun{.gpu = request->gpus.front(), .layout = request->layout};
}

MigLayouts::MigLayouts(EventLoop& loop, const sys::Root& own, MigLayoutsOptions options,
                       pods::Background background, node::Effects& effects, Gpus gpus)
    : own_(own),
      options_(std::move(options)),
      background_(std::move(background)),
      effects_(effects),
      gpus_(std::move(gpus)),
      child_(loop),
      changes_(loop,
               {.ask =
                    [this](mig::HelperRequest request, std::chrono::seconds deadline,
                           MigChanges::Done done) {
                      Ask(std::move(request), deadline, std::move(done));
                    },
                .close = gpus_.close,
                .open = gpus_.open,
                .read = gpus_.read,
                .forget = gpus_.forget,
                .borrower = gpus_.borrower,
                .holders = [this](const std::string& gpu) { return Holders(gpu); },
                .look_at_pods = [this] { effects_.LookAtPods(); },
                .keep = [this](const auto& begun) { Keep(begun); },
                .report = [this](const MigGoalReport& before,
                                 const MigGoalReport& now) { Report(before, now); },
                .changed = [this] { effects_.AssignAgain(); }},
               {.begun = ReadBegun(options_.run_dir), .withdrawn = options_.withdrawn}),
      label_timer_(loop) {
  if (!options_.withdrawn.empty()) {
    label_timer_.Arm(kLabelPatience, [this] { changes_.SetComplete(); });
  }
}

void MigLayouts::SetLabels(const std::map<std::string, std::string>& labels) {
  std::string label = LabelIn(labels);
  problem_ = "";
  if (!label.empty() && HasMigManager(labels)) {
    problem_ =
        fmt::format("{}: left to NVIDIA's MIG manager; to take over: set the label {} to false",
                    kMigConfigLabel, kMigManagerLabel);
    label.clear();
  }
  is_label_new_ |= is_label_known_ && label != label_;
  is_label_known_ = true;
  label_ = std::move(label);
}

void MigLayouts::Assign(const node::NodeState& /*state*/, node::Draft& draft) {
  MarkHealth(draft.fresh);
}

void MigLayouts::Update(const node::NodeState& state) {
  if (state.labels != nullptr) {
    SetLabels(*state.labels);
  }
  const bool is_ready = state.snapshot != nullptr && state.config != nullptr &&
                        state.snapshot->driver.state == device::DriverState::kReady;
  if (!is_ready || options_.program.empty()) {
    return;
  }
  LookAtFile();
  if (!file_marks_) {
    return;
  }
  snapshot_ = state.snapshot;
  std::vector<MigGoal> goals;
  if (!state.stands_back()) {
    goals =
        MigGoalsOf({.snapshot = *state.snapshot,
                    .config = *state.config,
                    .label = label_,
                    .configs_file = file_marks_->empty() ? std::string() : options_.configs_file,
                    .is_label_new = is_label_new_});
  }
  const bool is_planned = changes_.SetGoals(
      std::move(goals), {.may_change = !state.stands_back(),
                         .is_complete = is_label_known_ || !label_timer_.is_armed()});
  const bool has_other_names = std::exchange(has_other_names_, false);
  const std::string marks = MigMarksOf(*state.snapshot);
  const bool has_other_layouts = std::exchange(marks_, marks) != marks;
  if (is_planned) {
    return;
  }
  if (has_other_names) {
    changes_.NamesChanged();
  } else if (has_other_layouts) {
    changes_.PlanAgain();
  }
}

void MigLayouts::LookAtFile() {
  if (options_.configs_file.empty()) {
    file_marks_ = "";
    return;
  }
  if (is_looking_) {
    return;
  }
  const std::function<void(std::string)> take =
      lifetime_.Bind([this](std::string marks) { TakeFileMarks(std::move(marks)); });
  const auto give_up = lifetime_.Bind([this](const Status&) { is_looking_ = false; });
  is_looking_ = true;
  if (!background_(
          [take, &own = own_, file = options_.configs_file]() -> std::function<void()> {
            return [take, marks = MarksOf(own, file)]() mutable { take(std::move(marks)); };
          },
          give_up)) {
    is_looking_ = false;  // the next input is another try
  }
}

void MigLayouts::TakeFileMarks(std::string marks) {
  is_looking_ = false;
  if (file_marks_ == marks) {
    return;
  }
  has_other_names_ = file_marks_.has_value();
  file_marks_ = std::move(marks);
  effects_.UpdateAgain();
}

std::optional<std::string> MigLayouts::label_state() const {
  for (const MigGoalReport& report : changes_.reports()) {
    if (report.is_label) {
      return std::string(ToString(report.state));
    }
  }
  // Until the first goals are known, what the node carries stays.
  return is_label_known_ && (label_.empty() || snapshot_ != nullptr)
             ? std::nullopt
             : std::optional<std::string>("");
}

void MigLayouts::ShowStatus(const node::NodeState& /*state*/, node::StatusPage& page) const {
  boost::json::array goals;
  for (const MigGoalReport& report : changes_.reports()) {
    const std::string_view state = ToString(report.state);
    page.AddLine("MIG", fmt::format("{}: {}{}{}", report.goal, state.empty() ? "planning" : state,
                                    report.text.empty() ? "" : ": ", report.text));
    goals.push_back(boost::json::object{
        {"goal", report.goal}, {"state", std::string(state)}, {"text", report.text}});
  }
  page.AddLine("MIG", problem_);
  page.fields["mig"] = boost::json::object{{"goals", std::move(goals)}, {"problem", problem_}};
}

std::string MigLayouts::Holders(const std::string& gpu) const {
  const pods::PodMapPtr pods = effects_.now().pods;
  std::string text;
  const auto add = [&](const std::string& device) {
    for (const pods::Container& container : pods::UsersOf(*pods, device)) {
      text += fmt::format("{}/{}/{} ", container.pod_namespace, container.pod, container.container);
    }
  };
  add(gpu);
  const auto uuid = device::GpuUuid::Parse(gpu);
  const device::Gpu* card = snapshot_ && uuid.ok() ? snapshot_->FindGpu(*uuid) : nullptr;
  if (card != nullptr) {
    for (const device::MigDevice& mig : card->mig_devices) {
      add(mig.uuid.str());
    }
  }
  return text;
}

void MigLayouts::Report(const MigGoalReport& before, const MigGoalReport& now) {
  if ((now.state == MigState::kSuccess || now.state == MigState::kFailed) &&
      now.goal == fmt::format("{}={}", kMigConfigLabel, label_)) {
    is_label_new_ = false;
  }
  if (now.state == MigState::kUnknown ||
      (before.state == MigState::kUnknown && now.state == MigState::kSuccess)) {
    return;  // nothing happened
  }
  constexpr std::string_view kReasons[] = {"", "MIGConfigPending", "MIGConfigApplied",
                                           "MIGConfigFailed"};
  const std::string note = now.text.empty() ? now.goal : fmt::format("{}: {}", now.goal, now.text);
  KGPU_LOG(kInfo, "MIG layout", {"state", ToString(now.state)}, {"note", note});
  effects_.Notify({.is_warning = now.state == MigState::kFailed,
                   .reason = std::string(kReasons[static_cast<size_t>(now.state)]),
                   .action = "Partitioning",
                   .note = note,
                   .regarding = {.api_version = "v1", .kind = "Node", .name = options_.node_name},
                   .subject = now.goal});
}

void MigLayouts::Ask(mig::HelperRequest request, std::chrono::seconds deadline,
                     MigChanges::Done done) {
  request.host = options_.host;
  AskHelper(child_, options_.program, request, deadline, std::move(done));
}

void MigLayouts::Keep(const std::optional<MigChanges::Begun>& begun) {
  const std::string path = fmt::format("{}/{}", options_.run_dir, kMigBegunFile);
  if (!begun) {
    (void)unlink(path.c_str());
    return;
  }
  const Status written =
      sys::WriteFileAtomically(path, PrintBegun(*begun), 0600, sys::Durability::kMemory);
  if (!written.ok()) {
    KGPU_LOG(kWarning, "a MIG change that is interrupted now is not finished by itself",
             {"reason", Message(written)});
  }
}

}  // namespace kgpu::layouts
