#include "src/cli/top/node_items.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/cli/top/figures.h"
#include "src/platform/base/strings.h"

namespace kgpu::top {
namespace {

using terminal::Color;
using terminal::Look;
using terminal::Safe;
using terminal::Span;
using terminal::Style;

constexpr Style kWrong = {.color = Color::kRed, .is_bold = true};
constexpr Style kWarned = {.color = Color::kYellow};
constexpr Style kFine = {.color = Color::kGreen};
constexpr Style kQuiet = {.is_dim = true};
constexpr std::string_view kFunctionHolder = "fn/";
// A state with less room names no more than the cause.
constexpr size_t kWideState = 24;

class ItemBuilder {
 public:
  ItemBuilder(const LiveDocument& document, const ListState& state, const NodeLayout& layout,
              const Look& look)
      : digits_(DigitsOf(document)), state_(state), layout_(layout), look_(look) {}

  Item ItemOf(const LiveGpu& gpu) const {
    Item item{.id = "gpu/" + gpu.uuid,
              .text = fmt::format("gpu {} {} {} {} {} {}", gpu.index, gpu.uuid, gpu.model, gpu.pci,
                                  HealthText(gpu.is_healthy, gpu.reason), gpu.pool),
              .name = Safe(fmt::format("{:>{}} {}", gpu.index, digits_, gpu.model), look_),
              .style = {.is_bold = true},
              .target = {.kind = TargetKind::kGpu, .name = gpu.uuid},
              .opens = true};
    AddMessages(item.id, gpu.is_healthy, gpu.message, gpu.warnings, item);
    for (const MigDevice& mig : gpu.mig) {
      item.children.push_back(ItemOf(gpu, mig, item.id));
    }
    AddBorrower(gpu, item);
    AddUsers(gpu.users, item);
    AddProcesses(gpu.processes, item);
    AddGpuFigures(gpu, layout_, look_, item.figures);
    if (layout_.state > 0) {
      const Span state = StateOf(gpu, item);
      item.figures.AddBlanks(1);
      item.figures.AddCell(state.text, layout_.state, look_, state.style);
    }
    return item;
  }

 private:
  static std::string HealthText(bool is_healthy, const std::string& reason) {
    return is_healthy ? "healthy ok" : "unhealthy " + reason;
  }

  Span StateOf(const LiveGpu& gpu, const Item& item) const {
    std::string text = "ok";
    Style style = kFine;
    if (!gpu.is_healthy) {
      text = gpu.reason.empty() ? "unhealthy" : gpu.reason;
      style = kWrong;
    } else if (!gpu.throttled.empty()) {
      text = fmt::format(
          "{}{}", layout_.state < kWideState ? "" : "throttled: ", Join(gpu.throttled, ", "));
      style = kWarned;
    } else if (!gpu.warnings.empty()) {
      text = "warning";
      style = kWarned;
    }
    const bool is_open = state_.IsOpen(item.id, item.opens);
    if (const size_t pods = PodsOf(gpu); !is_open && pods > 0) {
      text += fmt::format(", {} pod{}", pods, pods == 1 ? "" : "s");
    }
    if (layout_.state >= kWideState && !gpu.pool.empty()) {
      text += "  " + gpu.pool;
    }
    return {.text = Safe(text, look_), .style = style};
  }

  static size_t PodsOf(const LiveGpu& gpu) {
    std::set<std::string> pods;
    for (const User& user : gpu.users) {
      pods.insert(user.PodName());
    }
    for (const MigDevice& mig : gpu.mig) {
      for (const User& user : mig.users) {
        pods.insert(user.PodName());
      }
    }
    return pods.size();
  }

  void AddMessages(const std::string& id, bool is_healthy, const std::string& message,
                   const std::vector<std::string>& warnings, Item& item) const {
    if (!is_healthy && !message.empty()) {
      item.children.push_back(MessageItem(id + "/message", message, kWrong));
    }
    for (size_t i = 0; i < warnings.size(); ++i) {
      item.children.push_back(
          MessageItem(fmt::format("{}/warning/{}", id, i), warnings[i], kWarned));
    }
    for (Item& child : item.children) {
      child.target = item.target;
    }
  }

  Item MessageItem(std::string id, const std::string& text, Style style) const {
    return {.id = std::move(id),
            .text = text,
            .name = Safe("! " + text, look_),
            .style = style,
            .is_message = true};
  }

  Item ItemOf(const LiveGpu& gpu, const MigDevice& mig, const std::string& parent) const {
    Item item{.id = fmt::format("{}/mig/{}", parent, mig.uuid),
              .text = fmt::format("{} mig {} {} {}", mig.uuid, mig.profile,
                                  HealthText(mig.is_healthy, mig.reason), mig.pool),
              .name = Safe(fmt::format("{}:{} {}", gpu.index, mig.index, mig.profile), look_),
              .target = {.kind = TargetKind::kGpu, .name = gpu.uuid},
              .opens = true};
    AddMessages(item.id, mig.is_healthy, mig.message, {}, item);
    AddUsers(mig.users, item);
    Span info = mig.is_healthy ? Span{.text = Safe(mig.pool, look_), .style = kQuiet}
                               : Span{.text = Safe(mig.reason, look_), .style = kWrong};
    AddPartFigures({}, MemoryText(mig.memory_used, mig.memory_total),
                   ShareOf(mig.memory_used, mig.memory_total), info, layout_, look_, item.figures);
    return item;
  }

  void AddBorrower(const LiveGpu& gpu, Item& item) const {
    if (gpu.lent_to.empty()) {
      return;
    }
    Item borrower{.id = item.id + "/lent",
                  .text = "function lent " + gpu.lent_to,
                  .name = Safe(BorrowerText(gpu.lent_to), look_),
                  .target = item.target};
    AddPartFigures({}, "", {}, {.text = Safe(gpu.lent_to, look_), .style = kQuiet}, layout_, look_,
                   borrower.figures);
    item.children.push_back(std::move(borrower));
  }

  void AddUsers(const std::vector<User>& users, Item& item) const {
    for (const User& user : users) {
      Item child{.id = fmt::format("{}/pod/{}/{}", item.id, user.PodName(), user.container),
                 .text = fmt::format("pod {} {} {}", user.PodName(), user.container, user.claim),
                 .name = Safe(user.PodName(), look_),
                 .target = {.kind = TargetKind::kPod, .name = user.PodName()}};
      AddProcesses(user.processes, child);
      AddPartFigures(user.sm, user.used || user.limit ? MemoryText(user.used, user.limit) : "",
                     ShareOf(user.used, user.limit), {.text = InfoOf(user), .style = kQuiet},
                     layout_, look_, child.figures);
      item.children.push_back(std::move(child));
    }
  }

  std::string InfoOf(const User& user) const {
    std::string info = user.container;
    if (user.slots > 1) {
      info += fmt::format("  {} slots", user.slots);
    }
    if (user.peak) {
      info += "  peak " + MemoryText(user.peak, {});
    }
    if (!user.claim.empty()) {
      info += "  claim " + user.claim;
    }
    return Safe(info, look_);
  }

  void AddProcesses(const std::vector<Process>& processes, Item& item) const {
    for (const Process& process : processes) {
      Item child{.id = fmt::format("{}/process/{}", item.id, process.pid),
                 .text = fmt::format("process {} {}", process.pid, process.name),
                 .name = Safe(fmt::format("{} {}", process.pid, process.name), look_),
                 .target = item.target};
      AddPartFigures(process.sm, process.memory ? MemoryText(process.memory, {}) : "", {}, {},
                     layout_, look_, child.figures);
      item.children.push_back(std::move(child));
    }
  }

  static size_t DigitsOf(const LiveDocument& document) {
    size_t digits = 1;
    for (const LiveGpu& gpu : document.gpus) {
      digits = std::max(digits, fmt::formatted_size("{}", gpu.index));
    }
    return digits;
  }

  const size_t digits_;  // of the largest index
  const ListState& state_;
  const NodeLayout& layout_;
  const Look& look_;
};

}  // namespace

std::string BorrowerText(const std::string& lent_to) {
  if (!lent_to.starts_with(kFunctionHolder)) {
    return "lent to " + lent_to;
  }
  const std::string_view rest = std::string_view(lent_to).substr(kFunctionHolder.size());
  return fmt::format("function {}", rest.substr(0, rest.find('/')));
}

std::vector<Item> NodeItems(const LiveDocument& document, const ListState& state,
                            const NodeLayout& layout, const Look& look) {
  const ItemBuilder builder(document, state, layout, look);
  std::vector<Item> items;
  items.reserve(document.gpus.size());
  for (const LiveGpu& gpu : document.gpus) {
    items.push_back(builder.ItemOf(gpu));
  }
  return items;
}

}  // namespace kgpu::top
