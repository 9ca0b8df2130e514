// buildah: builds, finds and pushes images.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"

namespace kgpu::functions {

struct BuilderSettings {
  std::string buildah;                     // its path; empty: not installed
  std::vector<std::string> flags{};        // before its command: "--root", …
  std::vector<std::string> environment{};  // of buildah: proxies, containers.conf, credentials
  // Called with each line that it prints; empty: nobody watches.
  std::function<void(std::string_view line)> on_line{};
};

struct ImageBuild {
  std::string what;                  // for errors: "function hello"
  std::string folder;                // with a Containerfile and all that it copies
  std::vector<std::string> names{};  // that the image gets
};

struct PushOptions {
  std::string auth_file{};     // containers-auth.json(5); empty: the user's own
  bool is_plain_http = false;  // to a registry without TLS
};

// Borrows the runner. Thread: one at a time; its calls block.
class ImageBuilder {
 public:
  ImageBuilder(sys::ProgramRunner& runner, BuilderSettings settings)
      : runner_(runner), settings_(std::move(settings)) {}

  // The same content gives the same image: all times in it are 0. Errors: FailedPrecondition (no
  // buildah; or a step failed: with everything that it printed, unless somebody watched).
  Status Build(const ImageBuild& build);
  // Fetches the newest image of this name. Errors: FailedPrecondition.
  Status Pull(const std::string& image);
  // A label of an image of this host; nothing: it has no such image, or the image no such label.
  // Errors: FailedPrecondition (no buildah, or it does not work here).
  StatusOr<std::optional<std::string>> FindLabel(const std::string& image,
                                                 const std::string& label);
  // Gives the image `name` a second name.
  Status Tag(const std::string& name, const std::string& other);
  // Errors: Unavailable (the registry cannot be reached), PermissionDenied (it wants other
  // credentials), FailedPrecondition.
  Status Push(const std::string& image, const PushOptions& options);

 private:
  StatusOr<sys::RunResult> Run(std::vector<std::string> words, std::chrono::milliseconds deadline);
  sys::ProgramRunner& runner_;
  const BuilderSettings settings_;
};

}  // namespace kgpu::functions
