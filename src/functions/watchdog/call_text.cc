#include "src/functions/watchdog/call_text.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/functions/watchdog/frame.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/net/http/field.h"

namespace kgpu::watchdog {
namespace {

namespace json = boost::json;

constexpr doc::Limits kReadyLimits{.bytes = size_t{64} << 10, .depth = 4, .values = 2000};
// Escapes take more bytes than the fields that they stand for.
constexpr doc::Limits kHeadLimits{.bytes = size_t{256} << 10, .depth = 4, .values = 4000};
// Every hop adds fields of its own and refuses a header over 64 KiB.
constexpr size_t kMaxHeaders = size_t{32} << 10;
constexpr size_t kMaxFields = 1000;
constexpr size_t kShownName = 80;  // of a field, in an error

// Of CallTextEnd.
constexpr size_t kMaxEnd = 64;

bool IsPlain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void AppendCode(std::string& out, char c) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
}

// Of UTF-8.
void AppendEscaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, IsPlain);
    out.append(text.begin(), plain);
    text.remove_prefix(static_cast<size_t>(plain - text.begin()));
    if (text.empty()) {
      return;
    }
    if (static_cast<unsigned char>(text.front()) < 0x20) {
      AppendCode(out, text.front());
    } else {
      out += '\\';
      out += text.front();
    }
    text.remove_prefix(1);
  }
}

void AppendText(std::string& out, std::string_view text) {
  out += '"';
  for (auto bad = FindInvalidUtf8(text); bad; bad = FindInvalidUtf8(text)) {
    AppendEscaped(out, text.substr(0, *bad));
    AppendCode(out, text[*bad]);
    text.remove_prefix(*bad + 1);
  }
  AppendEscaped(out, text);
  out += '"';
}

void AppendMember(std::string& out, std::string_view name, std::string_view text) {
  out += '"';
  out += name;
  out += "\":";
  AppendText(out, text);
  out += ',';
}

// Source: RFC 9110, 5.3; RFC 6265, 5.4: a comma would be part of a cookie.
std::string_view SeparatorOf(std::string_view name) {
  return http::EqualsIgnoringCase(name, "Cookie") ? "; " : ", ";
}

// Most requests have no field twice: joining is for those that have.
void AppendHeaders(std::string& out, const http::Headers& headers) {
  out += '{';
  const auto& fields = headers.fields();
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    const auto is_same = [&](const auto& other) {
      return http::EqualsIgnoringCase(other.first, field->first);
    };
    if (std::any_of(fields.begin(), field, is_same)) {
      continue;
    }
    std::string value = field->second;
    for (auto next = std::find_if(field + 1, fields.end(), is_same); next != fields.end();
         next = std::find_if(next + 1, fields.end(), is_same)) {
      value.append(SeparatorOf(field->first)).append(next->second);
    }
    if (out.back() != '{') {
      out += ',';
    }
    AppendText(out, ToLower(field->first));
    out += ':';
    AppendText(out, value);
  }
  out += '}';
}

StatusOr<json::object> ParseObject(std::string_view text, std::string_view what,
                                   const doc::Limits& limits) {
  StatusOr<json::value> value = doc::ParseJson(text, what, limits);
  RETURN_IF_ERROR(value.status());
  if (!value->is_object()) {
    return InvalidArgument("{}: must be a JSON object", what);
  }
  return std::move(value->as_object());
}

// The fields of an answer, with what they take in a message.
class FieldReader {
 public:
  explicit FieldReader(http::Headers& headers) : headers_(headers) {}

  Status Add(std::string_view name, const json::value& value) {
    if (!http::IsToken(name)) {
      return InvalidArgument(
          "header \"{}\": a name must be letters, digits and !#$%&'*+-.^_`|~ only",
          Printable(name, kShownName));
    }
    if (const json::array* list = value.if_array()) {
      for (const json::value& item : *list) {
        RETURN_IF_ERROR(AddOne(name, item));
      }
      return OkStatus();
    }
    return AddOne(name, value);
  }

 private:
  Status AddOne(std::string_view name, const json::value& value) {
    if (!value.is_string()) {
      return InvalidArgument("header {}: must be a text, or a list of texts",
                             Printable(name, kShownName));
    }
    const std::string_view text = Trim(std::string_view(value.get_string()));
    if (!http::IsFieldValue(text)) {
      return InvalidArgument("header {}: a value must have no line end or control character",
                             Printable(name, kShownName));
    }
    bytes_ += name.size() + text.size() + std::string_view(": \r\n").size();
    if (bytes_ > kMaxHeaders || headers_.fields().size() >= kMaxFields) {
      return InvalidArgument("headers: at most {} bytes and {} fields are allowed", kMaxHeaders,
                             kMaxFields);
    }
    headers_.Add(name, text);
    return OkStatus();
  }

  http::Headers& headers_;
  size_t bytes_ = 0;
};

Status AddHeaders(CallHead& head, const json::value& headers) {
  if (!headers.is_object()) {
    return InvalidArgument("headers: must be a map of names to values");
  }
  FieldReader reader(head.headers);
  for (const auto& [name, value] : headers.get_object()) {
    RETURN_IF_ERROR(reader.Add(name, value));
  }
  return OkStatus();
}

}  // namespace

std::string_view FaultWord(FaultKind kind) {
  switch (kind) {
    case FaultKind::kHandler:
      return "handler";
    case FaultKind::kCrash:
      return "crash";
    case FaultKind::kTimeout:
      return "timeout";
    case FaultKind::kOverload:
      return "overload";
    case FaultKind::kStarting:
      return "starting";
    case FaultKind::kStopping:
      return "stopping";
    case FaultKind::kOutput:
      return "output";
    case FaultKind::kReply:
      return "reply";
    case FaultKind::kInput:
      return "input";
  }
  return "handler";
}

StatusOr<std::string> CallText(const CallFacts& facts) {
  std::string out;
  out.reserve(512 + facts.path.size() + facts.query.size());
  out += '{';
  AppendMember(out, "id", facts.id);
  AppendMember(out, "method", facts.method);
  AppendMember(out, "path", facts.path);
  AppendMember(out, "query", facts.query);
  out += "\"headers\":";
  AppendHeaders(out, facts.headers);
  if (out.size() > kMaxPayload - kMaxEnd) {
    return InvalidArgument("path, query and headers take {} bytes: send fewer than {}", out.size(),
                           kMaxPayload - kMaxEnd);
  }
  return out;
}

std::string CallTextEnd(std::chrono::milliseconds left) {
  return fmt::format(",\"deadlineMs\":{}}}", left.count());
}

StatusOr<ReadyInfo> ParseReady(std::string_view text) {
  ASSIGN_OR_RETURN(const json::object ready, ParseObject(text, "ready", kReadyLimits));
  ReadyInfo info;
  if (const json::value* concurrent = ready.if_contains("concurrent")) {
    if (!concurrent->is_bool()) {
      return InvalidArgument("ready: concurrent: must be true or false");
    }
    info.is_concurrent = concurrent->as_bool();
  }
  if (const json::value* runtime = ready.if_contains("runtime"); runtime && runtime->is_string()) {
    info.runtime = Printable(std::string_view(runtime->as_string()));
  }
  return info;
}

StatusOr<CallHead> ParseHead(std::string_view text) {
  ASSIGN_OR_RETURN(const json::object object, ParseObject(text, "head", kHeadLimits));
  CallHead head;
  if (const json::value* status = object.if_contains("status")) {
    const int64_t code = status->is_int64() ? status->as_int64() : 0;
    if (code < 200 || code > 599) {
      return InvalidArgument("status: must be a number from 200 to 599");
    }
    head.status = static_cast<int>(code);
  }
  if (const json::value* headers = object.if_contains("headers")) {
    RETURN_IF_ERROR(AddHeaders(head, *headers));
  }
  return head;
}

}  // namespace kgpu::watchdog
