#include "src/gpu/health/journal_text.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/saved_fields.h"

namespace kgpu::health {
namespace {

namespace json = boost::json;

using doc::View;
using std::chrono::milliseconds;

// Raised when a field changes its meaning; a new field does not.
constexpr int kVersion = 1;
// Together, and with every character escaped, within kMaxJournalLine.
constexpr size_t kMaxText = 800;
constexpr size_t kMaxWord = 64;
constexpr doc::Limits kLineLimits{.bytes = kMaxJournalLine, .depth = 4, .values = 64};

// One line of UTF-8 of at most `limit` bytes: the kernel's log has other bytes too.
std::string Cut(std::string_view text, size_t limit) {
  std::string cut(CutUtf8(text, limit));
  const bool is_text = !FindInvalidUtf8(cut);
  std::ranges::replace_if(
      cut, [is_text](unsigned char c) { return c < 0x20 || (c > 0x7e && !is_text); }, '?');
  return cut;
}

void AddEvents(const HealthEvent& event, json::object& line) {
  if (event.gpu) {
    line["gpu"] = event.gpu->str();
  }
  if (event.gpu_instance) {
    line["gi"] = *event.gpu_instance;
  }
  if (event.compute_instance) {
    line["ci"] = *event.compute_instance;
  }
  line["rule"] = Cut(event.rule, kMaxWord);
  if (event.xid) {
    line["xid"] = *event.xid;
  }
  line["class"] = View(ToString(event.fault_class));
  line["action"] = View(ToString(event.action));
  line["source"] = View(ToString(event.source));
  line["unhealthy"] = event.is_unhealthy;
  line["message"] = Cut(event.message, kMaxText);
  if (!event.detail.empty()) {
    line["detail"] = Cut(event.detail, kMaxText);
  }
  line["count"] = event.count;
  if (event.pid) {
    line["pid"] = *event.pid;
  }
}

std::optional<HealthEvent> ReadEvents(const doc::SavedFields& line, WallTime when) {
  const auto kind = ParseHealthEventKind(line.Text("kind"));
  if (!kind || line.Text("rule").empty()) {
    return std::nullopt;
  }
  HealthEvent event;
  event.kind = *kind;
  event.when = when;
  if (auto gpu = device::GpuUuid::Parse(line.Text("gpu")); gpu.ok()) {
    event.gpu = *std::move(gpu);
  }
  event.gpu_instance = line.Small("gi");
  event.compute_instance = line.Small("ci");
  event.rule = line.Text("rule");
  event.xid = line.Number("xid");
  // For a word of a later version this class is the closest that is always correct.
  event.fault_class = ParseFaultClass(line.Text("class")).value_or(FaultClass::kOther);
  event.action = ParseAction(line.Text("action")).value_or(Action::kInspect);
  event.source = ParseSource(line.Text("source")).value_or(Source::kDriverEvent);
  event.is_unhealthy = line.Flag("unhealthy");
  event.message = line.Text("message");
  event.detail = line.Text("detail");
  event.count = line.Number("count").value_or(1);
  event.pid = line.Small("pid");
  return event;
}

std::optional<JournalEntry> ReadLine(std::string_view text) {
  if (text.size() >= kMaxJournalLine) {
    return std::nullopt;
  }
  const auto value = doc::Parse(text, doc::Format::kJson, "the journal", kLineLimits);
  const json::object* object = value.ok() ? value->if_object() : nullptr;
  if (object == nullptr) {
    return std::nullopt;
  }
  const doc::SavedFields line(*object);
  const auto ms = line.Number("ms", kLastCount<milliseconds>);
  if (line.Number("v", kVersion) != kVersion || !ms) {
    return std::nullopt;
  }
  JournalEntry entry;
  entry.when = WallTime(milliseconds(*ms));
  if (line.Text("kind") == "boot") {
    entry.boot_id = line.Text("boot");
    entry.is_first = line.Flag("first");
    return entry;
  }
  entry.event = ReadEvents(line, entry.when);
  return entry.event ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

JournalEntry EntryOf(const HealthEvent& event) {
  return {.when = event.when, .event = event, .boot_id = {}};
}

std::string PrintJournalLine(const JournalEntry& entry) {
  json::object line;
  line["v"] = kVersion;
  if (entry.is_first) {
    line["first"] = true;  // before what is looked for
  }
  line["ms"] =
      std::max<int64_t>(std::chrono::floor<milliseconds>(entry.when.time_since_epoch()).count(), 0);
  if (entry.event) {
    line["kind"] = View(ToString(entry.event->kind));
    AddEvents(*entry.event, line);
  } else {
    line["kind"] = "boot";
    line["boot"] = Cut(entry.boot_id, kMaxWord);
  }
  return doc::PrintLine(line) + "\n";
}

JournalText ParseJournal(std::string_view text) {
  JournalText journal;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) {
      continue;
    }
    if (auto entry = ReadLine(line)) {
      journal.entries.push_back(*std::move(entry));
    } else {
      ++journal.bad_lines;
    }
  }
  return journal;
}

}  // namespace kgpu::health
