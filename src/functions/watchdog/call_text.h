// The JSON in frames: the description of a call, and what a worker reports about itself and its
// answers.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/functions/watchdog/call.h"
#include "src/platform/base/status.h"

namespace kgpu::watchdog {

struct CallFacts {
  std::string_view id{};  // X-Call-Id
  std::string_view method = "POST";
  std::string_view path = "/";  // as received: escapes are not decoded
  std::string_view query{};
  const http::Headers& headers;
};

// {"id","method","path","query","headers":{lowercase: value} without its end, which has the time
// that is left when the call is sent. Fields of one name are joined with ", ", those of Cookie with
// "; "; bytes that are not UTF-8 are read as Latin-1, so that the text always is. Errors:
// InvalidArgument (too long for a frame).
StatusOr<std::string> CallText(const CallFacts& facts);
// ,"deadlineMs":n}
std::string CallTextEnd(std::chrono::milliseconds left);

struct ReadyInfo {
  bool is_concurrent = false;  // takes several calls at a time
  std::string runtime{};       // "python 3.11"
};

// Errors: InvalidArgument.
StatusOr<ReadyInfo> ParseReady(std::string_view text);
// {"status":200,"headers":{name: text or [text]}}; both may be missing. A list is that many fields
// of one name. Errors: InvalidArgument: a status below 200 or above 599; a name or value that
// cannot be in an HTTP message; more than 1,000 fields, or 32 KiB of them.
StatusOr<CallHead> ParseHead(std::string_view text);

}  // namespace kgpu::watchdog
