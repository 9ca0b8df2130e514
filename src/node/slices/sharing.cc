#include "src/node/slices/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <utility>
#include <vector>

#include "src/node/pods/obstacle.h"
#include "src/node/pools/saved_slots.h"
#include "src/node/slices/slice_view.h"

namespace kgpu::slices {
namespace {

// In the agent's saved state.
constexpr char kShapes[] = "shapes";
constexpr char kHeld[] = "held";

}  // namespace

Sharing::Sharing(EventLoop& loop, const sys::Root& host, const pods::Background& background,
                 slices::SliceFilesOptions options, node::Effects& effects, Evict evict)
    : loop_(loop),
      options_(std::move(options)),
      effects_(effects),
      slices_(loop, background, options_, [this] { OnFiles(); }),
      compute_(background, options_.folder, [this] { effects_.MeasureAgain(); }),
      watch_(background,
             {.notify = [this](kube::Event event) { effects_.Notify(std::move(event)); },
              .kill = [&host](const slices::SliceUse& use) { return KillInPod(host, use); },
              .evict = std::move(evict)}),
      changes_(loop, {.obstacle =
                          [this](const std::string& device, SteadyTime since) {
                            const node::NodeState state = effects_.now();
                            return pods::PodObstacleTo(
                                device, since, {.pods = *state.pods, .list = state.pod_list});
                          },
                      .look_at_pods = [this] { effects_.LookAtPods(); },
                      .again = [this] { effects_.AssignAgain(); }}) {
}

// While they are written again, what was known of them counts. The library is looked for before
// anything is shown.
void Sharing::OnFiles() {
  const std::string before = std::exchange(problem_, slices_.problem());
  if (before == problem_) {
    effects_.ShowAgain();
  } else {
    effects_.AssignAgain();
  }
}

void Sharing::Assign(const node::NodeState& state, node::Draft& draft) {
  changes_.Apply(draft.fresh, *state.assignment);
  std::vector<slices::SliceSlot> slots = slices::SlicesOf(draft.fresh);
  if (slots.empty()) {
    problem_.clear();
  } else if (options_.library.empty()) {
    problem_ = Message(slices::NoLibrary());
  }
  // Containers of devices that wait to change may start again.
  for (slices::SliceSlot& slot : slices::SlicesOf(changes_.held())) {
    if (std::ranges::find(slots, slot.id, &slices::SliceSlot::id) == slots.end()) {
      slots.push_back(std::move(slot));
    }
  }
  slices_.Set(std::move(slots));
  compute_.SetAssignment(draft.fresh, changes_.held());
  draft.held = changes_.held();
  MarkHealth(draft.fresh);
}

void Sharing::MarkHealth(pools::Assignment& shown) const {
  if (problem_.empty()) {
    return;
  }
  for (pools::Resource& resource : shown.resources) {
    for (pools::Slot& slot : resource.slots) {
      if (slot.memory && slot.health.is_healthy) {
        slot.health = {
            .is_healthy = false, .reason = std::string(kSlicesReason), .message = problem_};
      }
    }
  }
}

std::function<Status(std::span<const std::string>)> Sharing::renewal() const {
  return [options = options_](std::span<const std::string> slot_ids) {
    return slices::RenewLedgers(options, slot_ids);
  };
}

void Sharing::OnSample(const node::NodeState& state, const device::SampleSetPtr& samples) {
  const slices::SliceFacts facts{.assignment = *state.assignment,
                                 .held = changes_.held(),
                                 .snapshot = *state.snapshot,
                                 .samples = *samples,
                                 .pods = *state.pods};
  const SteadyTime now = loop_.clock().Now();
  compute_.OnSample(facts, state.pod_list, now);
  watch_.OnSample(facts, state.pod_list.asked, now, state.round());
}

void Sharing::Remark(std::vector<std::string>& remarks) const {
  if (!problem_.empty()) {
    remarks.push_back(fmt::format("memory slices: {}", problem_));
  }
}

void Sharing::ShowStatus(const node::NodeState& /*state*/, node::StatusPage& page) const {
  page.AddLine("slices", problem());
  if (!problem().empty()) {
    page.exceptions.insert("memory slices");
    boost::json::value& problems = page.fields["sliceProblems"];
    if (!problems.is_array()) {
      problems.emplace_array();
    }
    problems.get_array().emplace_back(problem());  // after those of loans
  }
  page.tables += SliceTable(*figures());
  page.fields["slices"] = SliceFiguresJson(*figures());
}

void Sharing::Save(boost::json::object& fields) const {
  fields[kShapes] = pools::ShapesJson(changes_.shapes());
  fields[kHeld] = pools::ResourcesJson(changes_.MakeRecall());
}

void Sharing::Recall(const node::SavedState& state) {
  const doc::SavedFields fields(state.fields);
  std::vector<pools::Resource> held = pools::ReadResources(fields, kHeld);
  held.insert(held.end(), state.outdated.begin(), state.outdated.end());
  changes_.Recall(pools::ReadShapes(fields, kShapes), std::move(held));
}

}  // namespace kgpu::slices
