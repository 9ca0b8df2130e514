#include "src/cli/fn/fn_answer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "src/cli/base/output.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/field.h"

namespace kgpu::cli {
namespace {

constexpr size_t kMaxInput = size_t{16} << 20;

StatusOr<std::string> ReadInput() {
  std::string input;
  std::string piece(size_t{64} << 10, '\0');
  if (isatty(STDIN_FILENO) != 0) {
    PrintNote("reading the input from the terminal: end it with Ctrl-D");
  }
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) {
      return input;
    }
    if (count < 0 && errno != EINTR) {
      return errno == EBADF ? StatusOr<std::string>(input) : ErrnoStatus(errno, "standard input");
    }
    input.append(piece, 0, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (input.size() > kMaxInput) {
      return OutOfRange("standard input: larger than {} bytes, the limit of a call", kMaxInput);
    }
  }
}

constexpr int kFirstFailure = 400;

struct Answer {
  int code = 0;
  std::string fault{};  // of the header Kgpu-Fault
  bool is_of_call = false;
  std::string text{};  // of a failure that is not the handler's answer
};

// Whose failure it was: the header says so, if it was one that the handler did not answer itself.
StatusOr<ExitCode> OutcomeOfCall(const std::string& name, const Answer& answer) {
  const auto& [code, fault, is_of_call, text] = answer;
  if (code < kFirstFailure) {
    return ExitCode::kOk;
  }
  if (fault.empty() && !is_of_call) {
    return GatewayRefusal({.code = code, .body = text});
  }
  if (fault.empty()) {
    PrintNote(fmt::format("{}: the handler answered with code {}", name, code));
    return ExitCode::kUnhealthy;
  }
  std::string_view why = Trim(text);
  if (why.starts_with(fault + ": ")) {
    why.remove_prefix(fault.size() + 2);  // the watchdog's texts begin with it
  }
  static constexpr std::array<std::string_view, 5> kHandlers = {"handler", "crash", "timeout",
                                                                "output", "reply"};
  if (std::ranges::find(kHandlers, fault) != kHandlers.end()) {
    PrintNote(fmt::format("{}: {}: {}", name, fault, why));
    return ExitCode::kUnhealthy;
  }
  return fault == "input" ? InvalidArgument("{}: {}", name, why)
                          : Unavailable("{}: {}: {}", name, fault, why);
}

}  // namespace

namespace {

// HTTP sets these itself, for each hop: they would not arrive as they were given.
constexpr std::array<std::string_view, 10> kNotPassedOn = {
    "Connection", "Content-Length", "Expect",  "Keep-Alive",        "Proxy-Connection",
    "TE",         "Trailer",        "Upgrade", "Transfer-Encoding", "Kgpu-Fault"};

// Blanks around a value are no part of it; a line end is, and cannot be sent.
std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Status AddHeader(std::string_view header, http::Headers& headers) {
  const size_t colon = header.find(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument("--header: {} must be NAME:VALUE", Printable(header));
  }
  const std::string_view name = header.substr(0, colon);
  const std::string_view value = WithoutBlanks(header.substr(colon + 1));
  if (!http::IsToken(name)) {
    return InvalidArgument("--header: {}: a name must be letters, digits and !#$%&'*+-.^_`|~ only",
                           Printable(header));
  }
  if (!http::IsFieldValue(value)) {
    return InvalidArgument("--header: {}: a value must have no line end or control character",
                           Printable(header));
  }
  if (std::ranges::any_of(kNotPassedOn, [name](std::string_view own) {
        return http::EqualsIgnoringCase(own, name);
      })) {
    return InvalidArgument(
        "--header: {}: is set for each connection, and does not reach the "
        "function: leave it out",
        Printable(name));
  }
  headers.Add(name, value);
  return OkStatus();
}

}  // namespace

StatusOr<http::Request> CallRequest(const CallSettings& settings) {
  http::Request request{.method = settings.method};
  request.target = settings.path.starts_with('/') ? settings.path : "/" + settings.path;
  for (const std::string& header : settings.headers) {
    RETURN_IF_ERROR(AddHeader(header, request.headers));
  }
  if (!request.headers.Find("Content-Type")) {
    request.headers.Add("Content-Type", "application/octet-stream");
  }
  if (settings.method != "GET") {
    ASSIGN_OR_RETURN(request.body, ReadInput());
  }
  return request;
}

StatusOr<ExitCode> PrintAnswer(const std::string& name, const GatewayTarget& target,
                               const http::Request& request) {
  Answer answer;
  bool is_output = true;
  const Status status = StreamFromGateway(
      target, request,
      {.on_head =
           [&](int answered, const http::Headers& headers) {
             answer.code = answered;
             answer.fault = headers.Find("Kgpu-Fault").value_or("");
             // A refusal of the gateway itself has no call's id.
             answer.is_of_call = headers.Find("X-Call-Id").has_value();
             is_output = answer.fault.empty() && (answer.is_of_call || answered < kFirstFailure);
           },
       .on_data =
           [&](std::string_view bytes) {
             if (is_output) {
               return PrintOut(bytes);
             }
             answer.text += bytes;
             return OkStatus();
           }});
  if (!status.ok() && answer.code != 0) {
    return MakeStatus(StatusCode::kInternal,
                      fmt::format("{}: the answer was cut off: {}", name, Message(status)));
  }
  RETURN_IF_ERROR(status);
  return OutcomeOfCall(name, answer);
}

}  // namespace kgpu::cli
