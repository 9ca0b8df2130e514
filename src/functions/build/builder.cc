#include "src/functions/build/builder.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes kBuildDeadline{120};  // a large library may be compiled
constexpr minutes kPushDeadline{60};
constexpr seconds kQueryDeadline{60};
constexpr size_t kOutputLimit = size_t{8} << 20;

// Of what buildah itself says about a step that failed.
bool IsNoise(std::string_view line) {
  return line.starts_with("STEP ") || line.starts_with("subprocess exited") ||
         line.find("error building at STEP") != std::string_view::npos ||
         line.find("exit status") != std::string_view::npos || Trim(line).empty();
}

// What a step printed, whole: a compiler's messages have several lines each.
std::string StepOutput(const sys::RunResult& result) {
  std::vector<std::string> lines;
  for (const std::string& stream : {result.out, result.err}) {
    for (const std::string_view line : Split(stream, '\n')) {
      if (!IsNoise(line)) {
        lines.emplace_back(line);
      }
    }
  }
  return lines.empty() ? std::string(Trim(result.err)) : Join(lines, "\n");
}

Status PushFailure(const std::string& image, const sys::RunResult& result) {
  const auto has = [&result](std::string_view text) {
    return result.err.find(text) != std::string::npos;
  };
  const std::string reason = Describe(result);
  if (has("server gave HTTP response to HTTPS client")) {
    return FailedPrecondition("push {}: the registry has no TLS: add --plain-http", image);
  }
  if (has("unauthorized") || has("authentication required") || has("denied")) {
    return PermissionDenied(
        "push {}: {}: log in (buildah login), or name credentials with --authfile", image, reason);
  }
  if (has("connection refused") || has("no such host") || has("i/o timeout")) {
    return Unavailable("push {}: {}: check the address of the registry and try again", image,
                       reason);
  }
  return FailedPrecondition("push {}: {}", image, reason);
}

}  // namespace

StatusOr<sys::RunResult> ImageBuilder::Run(std::vector<std::string> words,
                                           std::chrono::milliseconds deadline) {
  if (settings_.buildah.empty()) {
    return FailedPrecondition("buildah is missing: install it (apt-get install buildah)");
  }
  std::vector<std::string> argv = {settings_.buildah};
  argv.insert(argv.end(), settings_.flags.begin(), settings_.flags.end());
  argv.insert(argv.end(), std::make_move_iterator(words.begin()),
              std::make_move_iterator(words.end()));
  return runner_.Run({.argv = std::move(argv),
                      .environment = settings_.environment,
                      .deadline = deadline,
                      .output_limit = kOutputLimit,
                      .on_line = settings_.on_line,
                      .leads_session = true});
}

Status ImageBuilder::Build(const ImageBuild& build) {
  std::vector<std::string> words = {"build",          "--isolation", "chroot",
                                    "--layers=false", "--timestamp", "0"};
  if (!settings_.on_line) {
    words.emplace_back("--quiet");
  }
  for (const std::string& name : build.names) {
    words.insert(words.end(), {"--tag", name});
  }
  words.insert(words.end(), {"--file", build.folder + "/Containerfile", build.folder});
  ASSIGN_OR_RETURN(const sys::RunResult result, Run(std::move(words), kBuildDeadline));
  if (result.IsSuccess()) {
    return OkStatus();
  }
  if (settings_.on_line) {
    return FailedPrecondition("{}: the image was not built: see the messages above", build.what);
  }
  return FailedPrecondition("{}: the image was not built:\n{}", build.what, StepOutput(result));
}

Status ImageBuilder::Pull(const std::string& image) {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   Run({"pull", "--quiet", "--policy=always", image}, kPushDeadline));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("pull {}: {}", image, Describe(result));
}

StatusOr<std::optional<std::string>> ImageBuilder::FindLabel(const std::string& image,
                                                             const std::string& label) {
  ASSIGN_OR_RETURN(const sys::RunResult result,
                   Run({"inspect", "--type", "image", "--format",
                        fmt::format("{{{{index .OCIv1.Config.Labels \"{}\"}}}}", label), image},
                       kQueryDeadline));
  if (result.IsSuccess()) {
    const std::string_view value = Trim(result.out);
    return value.empty() ? std::nullopt : std::optional(std::string(value));
  }
  // Its exit code is the same for an image that is not there and for storage that does not open.
  if (result.err.find("image not known") != std::string::npos ||
      result.err.find("not found") != std::string::npos) {
    return std::nullopt;
  }
  return FailedPrecondition("look for {}: {}", image, Describe(result));
}

Status ImageBuilder::Tag(const std::string& name, const std::string& other) {
  ASSIGN_OR_RETURN(const sys::RunResult result, Run({"tag", name, other}, kQueryDeadline));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("name {} {}: {}", name, other, Describe(result));
}

Status ImageBuilder::Push(const std::string& image, const PushOptions& options) {
  std::vector<std::string> words = {"push"};
  if (!options.auth_file.empty()) {
    words.insert(words.end(), {"--authfile", options.auth_file});
  }
  if (options.is_plain_http) {
    words.emplace_back("--tls-verify=false");
  }
  words.insert(words.end(), {image, "docker://" + image});
  ASSIGN_OR_RETURN(const sys::RunResult result, Run(std::move(words), kPushDeadline));
  return result.IsSuccess() ? OkStatus() : PushFailure(image, result);
}

}  // namespace kgpu::functions
