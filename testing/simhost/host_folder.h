// The folder of one simulated host: creates, opens and removes it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/platform/base/status.h"
#include "testing/driver/state.h"
#include "testing/simhost/profile.h"
#include "testing/simhost/settings.h"
#include "testing/simhost/tree.h"
#include "testing/simhost/tree_writer.h"

namespace kgpu::simhost {

struct CreateOptions {
  std::string folder;
  std::string profile;  // a built-in name, or a file (anything with '/' or ending in .yaml)
  Distro distro = Distro::kDebian;
  Arch arch = Arch::kX86_64;
  bool has_32bit = false;
  Companions companions;
  std::string driver_version;  // empty: the profile's
  uint64_t seed = 0;
  std::string nvml_library;  // the simulated library; empty: a stub takes its place. libcuda.so.1
                             // lies beside it
  std::string proc_devices;  // text of this machine's /proc/devices
  bool is_forced = false;    // replace an existing simulated host
};

// An existing simulated host. Only the process that holds the host's lock may change it.
class HostFolder {
 public:
  // Errors: InvalidArgument (profile), AlreadyExists (there is a host and not is_forced),
  // FailedPrecondition (a folder with other files, or a server runs), those of the file system.
  static StatusOr<HostFolder> Create(const CreateOptions& options, WriteReport& report);
  // Errors: NotFound (no simulated host there), InvalidArgument (its files are damaged).
  static StatusOr<HostFolder> Open(const std::string& folder);
  // Removes the whole folder. Errors: NotFound, FailedPrecondition (a server runs).
  static Status Delete(const std::string& folder);

  const std::string& path() const { return path_; }
  std::string At(std::string_view relative) const { return path_ + "/" + std::string(relative); }
  const Profile& profile() const { return profile_; }
  const HostSettings& settings() const { return settings_; }

  // The state of the host after a boot.
  StatusOr<std::unique_ptr<sim::SimState>> BootState() const;
  // Makes the tree show `state`. The first call reads the existing tree; later ones write the
  // differences from the last one, mostly none: few commands change what a tree shows.
  StatusOr<WriteReport> Show(const sim::SimState& state);
  // Re-reads host.json, after another process has changed it.
  Status ReloadSettings();
  Status SetNouveau(bool is_nouveau);
  Status SetCompanions(const Companions& companions);

 private:
  HostFolder(std::string path, Profile profile, HostSettings settings)
      : path_(std::move(path)), profile_(std::move(profile)), settings_(std::move(settings)) {}

  Status LoadLibrary();

  std::string path_;
  Profile profile_;
  HostSettings settings_;
  std::shared_ptr<const std::string> nvml_library_;
  std::shared_ptr<const std::string> cuda_library_;
  std::shared_ptr<const std::string> mps_program_;
  // The content of the tree; unset if unknown.
  struct Shown {
    HostView view;
    Tree tree;
  };
  std::optional<Shown> shown_;
};

}  // namespace kgpu::simhost
