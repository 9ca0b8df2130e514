#include "src/gpu/health/journal_text.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/utf8.h"

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
  const bool is_text = !doc::FindInvalidUtf8(cut);
  std::ranges::replace_if(
      cut, [is_text](unsigned char c) { return c < 0x20 || (c > 0x7e && !is_text); }, '?');
  return cut;
}

void AddNews(const Happening& news, json::object& line) {
  if (news.gpu) {
    line["gpu"] = news.gpu->str();
  }
  if (news.gpu_instance) {
    line["gi"] = *news.gpu_instance;
  }
  if (news.compute_instance) {
    line["ci"] = *news.compute_instance;
  }
  line["rule"] = Cut(news.rule, kMaxWord);
  if (news.xid) {
    line["xid"] = *news.xid;
  }
  line["class"] = View(ToString(news.fault_class));
  line["action"] = View(ToString(news.action));
  line["source"] = View(ToString(news.source));
  line["unhealthy"] = news.is_unhealthy;
  line["message"] = Cut(news.message, kMaxText);
  if (!news.detail.empty()) {
    line["detail"] = Cut(news.detail, kMaxText);
  }
  line["count"] = news.count;
  if (news.pid) {
    line["pid"] = *news.pid;
  }
}

// Fields of one line; a number that is none, or is out of its range, is not there.
class Line {
 public:
  explicit Line(const json::object& object) : object_(object) {}

  std::string_view Text(std::string_view key) const {
    const json::value* value = object_.if_contains(View(key));
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
  }
  std::optional<uint64_t> Number(std::string_view key, uint64_t max) const {
    const json::value* value = object_.if_contains(View(key));
    if (value == nullptr) {
      return std::nullopt;
    }
    json::error_code error;
    const auto number = value->to_number<uint64_t>(error);
    return error || number > max ? std::nullopt : std::optional(number);
  }
  std::optional<uint32_t> Small(std::string_view key) const {
    const auto number = Number(key, UINT32_MAX);
    return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
  }
  bool Flag(std::string_view key) const {
    const json::value* value = object_.if_contains(View(key));
    return value != nullptr && value->is_bool() && value->get_bool();
  }

 private:
  const json::object& object_;
};

std::optional<Happening> ReadNews(const Line& line, WallTime when) {
  const auto kind = ParseHappeningKind(line.Text("kind"));
  if (!kind || line.Text("rule").empty()) {
    return std::nullopt;
  }
  Happening news;
  news.kind = *kind;
  news.when = when;
  if (auto gpu = device::GpuUuid::Parse(line.Text("gpu")); gpu.ok()) {
    news.gpu = *std::move(gpu);
  }
  news.gpu_instance = line.Small("gi");
  news.compute_instance = line.Small("ci");
  news.rule = line.Text("rule");
  news.xid = line.Number("xid", UINT64_MAX);
  // A word of a later version is the nearest thing that is always right.
  news.fault_class = ParseFaultClass(line.Text("class")).value_or(FaultClass::kOther);
  news.action = ParseAction(line.Text("action")).value_or(Action::kInspect);
  news.source = ParseSource(line.Text("source")).value_or(Source::kDriverEvent);
  news.is_unhealthy = line.Flag("unhealthy");
  news.message = line.Text("message");
  news.detail = line.Text("detail");
  news.count = line.Number("count", UINT64_MAX).value_or(1);
  news.pid = line.Small("pid");
  return news;
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
  const Line line(*object);
  // Of a time that a clock can have: sums with it must not overflow.
  const auto ms = line.Number("ms", uint64_t{1} << 42U);
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
  entry.news = ReadNews(line, entry.when);
  return entry.news ? std::optional(std::move(entry)) : std::nullopt;
}

}  // namespace

JournalEntry EntryOf(const Happening& happening) {
  return {.when = happening.when, .news = happening, .boot_id = {}};
}

std::string PrintJournalLine(const JournalEntry& entry) {
  json::object line;
  line["v"] = kVersion;
  if (entry.is_first) {
    line["first"] = true;  // before what is looked for
  }
  line["ms"] =
      std::max<int64_t>(std::chrono::floor<milliseconds>(entry.when.time_since_epoch()).count(), 0);
  if (entry.news) {
    line["kind"] = View(ToString(entry.news->kind));
    AddNews(*entry.news, line);
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
