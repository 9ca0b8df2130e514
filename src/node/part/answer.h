// The form of the parts' answers to HTTP requests: pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <string>
#include <string_view>

#include "src/node/report/format.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::node {

// Header of responses that a command prints: the command's exit code.
inline constexpr std::string_view kExitCodeHeader = "Kgpu-Exit-Code";

// The format in ?output=, else JSON. Errors: InvalidArgument.
StatusOr<report::OutputFormat> FormatOf(const http::Request& request);
// The result of `json` or `table`, by the format: only one of them is called. The command that
// prints it exits with 0 or 7.
http::Response Shown(report::OutputFormat format, const std::function<boost::json::value()>& json,
                     const std::function<std::string()>& table, bool is_healthy);

bool IsRead(const http::Request& request);  // GET or HEAD
// GET or HEAD of /metrics: answered elsewhere, from the page cache.
bool IsMetricsRead(const http::Request& request);
// GET or HEAD of /live or what is below it: who may read the metrics may read it.
bool IsLiveRead(const http::Request& request);
bool IsProbePath(std::string_view path);
// GET or HEAD of /healthz, /health or /readyz: they reveal no more than whether everything is ok.
bool IsProbe(const http::Request& request);

}  // namespace kgpu::node
