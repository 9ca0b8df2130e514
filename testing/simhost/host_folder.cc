#include "testing/simhost/host_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/suggest.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/host_state.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

constexpr size_t kMaxLibraryBytes = size_t{256} << 20;

// The texts a host was made from, so that it can be opened again without their origin.
struct ProfileTexts {
  std::string profile;
  std::map<std::string, std::string> models;
};

StatusOr<std::string> ReadFileAt(const std::string& path, size_t limit) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(folder));
  return root.ReadFile(slash == std::string::npos ? path : path.substr(slash + 1), limit);
}

bool IsFileName(std::string_view profile) {
  return profile.find('/') != std::string_view::npos || profile.ends_with(".yaml");
}

StatusOr<std::string> BuiltinProfileText(std::string_view name) {
  const auto& profiles = BuiltinProfiles();
  if (const auto found = profiles.find(name); found != profiles.end()) {
    return std::string(found->second);
  }
  std::vector<std::string_view> names;
  names.reserve(profiles.size());
  for (const auto& [known, text] : profiles) {
    names.push_back(known);
  }
  const std::string meant = DidYouMean(Suggest(name, names), "\"");
  return InvalidArgument("--profile: \"{}\" is neither a file nor one of the profiles; {}",
                         Printable(name, 60),
                         meant.empty() ? "list them with kgpu sim profiles" : meant);
}

// Reads the profile and remembers the text of each model that it names. A model file beside a
// profile file ("models/X.yaml") comes before the built-in one.
StatusOr<Profile> LoadProfile(const std::string& name, ProfileTexts& texts) {
  const bool is_file = IsFileName(name);
  ASSIGN_OR_RETURN(texts.profile,
                   is_file ? ReadFileAt(name, sys::kDefaultReadLimit) : BuiltinProfileText(name));
  const std::string beside =
      is_file ? name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1) : "";
  const ModelSource models = [&](std::string_view id) -> StatusOr<std::string> {
    const std::string path = fmt::format("{}models/{}.yaml", beside, id);
    const bool is_plain = id.find('/') == std::string_view::npos && !id.starts_with('.');
    StatusOr<std::string> text = is_file && is_plain && access(path.c_str(), R_OK) == 0
                                     ? ReadFileAt(path, sys::kDefaultReadLimit)
                                     : BuiltinModelText(id);
    if (text.ok()) {
      texts.models.emplace(id, *text);
    }
    return text;
  };
  return ParseProfile(texts.profile, is_file ? name : name + ".yaml", models);
}

Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create folder " + path);
  }
  return OkStatus();
}

std::string Below(const std::string& folder, std::string_view relative) {
  return fmt::format("{}/{}", folder, relative);
}

bool IsSimulatedHost(const std::string& folder) {
  return access(Below(folder, kSettingsFile).c_str(), F_OK) == 0;
}

// A folder that is empty (or not there yet) or a simulated host that may be replaced.
Status MakeRoom(const CreateOptions& options) {
  const std::string& folder = options.folder;
  if (IsSimulatedHost(folder)) {
    if (!options.is_forced) {
      return AlreadyExists("{}: contains a simulated host: replace it with --force", folder);
    }
    RETURN_IF_ERROR(HostFolder::Delete(folder));
  }
  RETURN_IF_ERROR(MakeFolder(folder));
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open(folder));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, root.ListDir("/"));
  for (const std::string& name : names) {
    if (name != kOwnFolder) {
      return FailedPrecondition("{}: contains other files (\"{}\"): name an empty folder", folder,
                                Printable(name, 60));
    }
  }
  return MakeFolder(Below(folder, kOwnFolder));
}

Status SaveTexts(const std::string& folder, const ProfileTexts& texts,
                 const HostSettings& settings) {
  // First, so that `delete` knows a half-made host as ours.
  RETURN_IF_ERROR(sys::WriteFileAtomically(Below(folder, kSettingsFile), SettingsToJson(settings)));
  RETURN_IF_ERROR(sys::WriteFileAtomically(Below(folder, kProfileFile), texts.profile));
  RETURN_IF_ERROR(MakeFolder(Below(folder, kModelsFolder)));
  for (const auto& [id, text] : texts.models) {
    RETURN_IF_ERROR(
        sys::WriteFileAtomically(fmt::format("{}/{}/{}.yaml", folder, kModelsFolder, id), text));
  }
  return OkStatus();
}

// The processes on the GPUs of `state` that this machine has, by pid: whoever looks for their
// containers finds their cgroups. The others are made up.
std::vector<ProcessView> ProcessesOn(const sim::SimState& state) {
  std::set<uint32_t> pids;
  for (uint32_t slot = 0; slot < state.gpu_count; ++slot) {
    for (const sim::SimProcess& process : state.gpus[slot].processes) {
      if (process.pid != 0) {
        pids.insert(process.pid);
      }
    }
  }
  std::vector<ProcessView> processes;
  for (const uint32_t pid : pids) {
    if (auto text = ReadFileAt(fmt::format("/proc/{}/cgroup", pid), sys::kDefaultReadLimit);
        text.ok()) {
      processes.push_back({.pid = pid, .cgroup = *std::move(text)});
    }
  }
  return processes;
}

int RemoveEntry(const char* path, const struct stat*, int, struct FTW*) {
  return remove(path);
}

StatusOr<HostSettings> ReadSettings(const std::string& folder) {
  const std::string path = Below(folder, kSettingsFile);
  const StatusOr<std::string> text = ReadFileAt(path, sys::kDefaultReadLimit);
  if (!text.ok()) {
    return NotFound(
        "{}: not a simulated host, {} is missing: create one with kgpu sim create {} --profile "
        "NAME",
        folder, kSettingsFile, folder);
  }
  return SettingsFromJson(*text, path);
}

std::string WithoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

HostSettings SettingsFor(const CreateOptions& options, const Profile& profile) {
  HostSettings settings;
  settings.profile = profile.name;
  settings.distro = options.distro;
  settings.arch = options.arch;
  settings.has_32bit = options.has_32bit;
  settings.driver_version =
      options.driver_version.empty() ? profile.driver.version : options.driver_version;
  settings.seed = options.seed;
  settings.majors = FreeMajors(options.proc_devices);
  settings.companions = options.companions;
  settings.nvml_library = options.nvml_library;
  return settings;
}

}  // namespace

StatusOr<HostFolder> HostFolder::Create(const CreateOptions& raw_options, WriteReport& report) {
  CreateOptions options = raw_options;
  options.folder = WithoutTrailingSlash(options.folder);
  if (!options.driver_version.empty() && !IsDriverVersion(options.driver_version)) {
    return InvalidArgument("--driver: \"{}\" must be a driver version such as 535.104.05",
                           Printable(options.driver_version, 60));
  }
  ProfileTexts texts;
  ASSIGN_OR_RETURN(Profile profile, LoadProfile(options.profile, texts));
  const HostSettings settings = SettingsFor(options, profile);
  RETURN_IF_ERROR(MakeRoom(options));
  ASSIGN_OR_RETURN(const UniqueFd lock, LockHost(options.folder));
  if (IsSimulatedHost(options.folder)) {
    return AlreadyExists("{}: another kgpu sim has just created a host there", options.folder);
  }
  RETURN_IF_ERROR(SaveTexts(options.folder, texts, settings));
  HostFolder host(options.folder, std::move(profile), settings);
  ASSIGN_OR_RETURN(const auto state, host.BootState());
  ASSIGN_OR_RETURN(report, host.Show(*state));
  return host;
}

StatusOr<HostFolder> HostFolder::Open(const std::string& raw_folder) {
  const std::string folder = WithoutTrailingSlash(raw_folder);
  ASSIGN_OR_RETURN(HostSettings settings, ReadSettings(folder));
  ProfileTexts texts;
  ASSIGN_OR_RETURN(Profile profile, LoadProfile(Below(folder, kProfileFile), texts));
  return HostFolder(folder, std::move(profile), std::move(settings));
}

Status HostFolder::Delete(const std::string& raw_folder) {
  const std::string folder = WithoutTrailingSlash(raw_folder);
  if (!IsSimulatedHost(folder)) {
    return NotFound("{}: not a simulated host, {} is missing: nothing removed", folder,
                    kSettingsFile);
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, LockHost(folder));
  // Never into another file system: a container may have mounts below this folder.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): kgpu-sim's verbs have one thread
  if (nftw(folder.c_str(), RemoveEntry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0) {
    return ErrnoStatus(errno, "remove " + folder);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<sim::SimState>> HostFolder::BootState() const {
  return InitialState(profile_, settings_);
}

// Read once: a library that is built again meanwhile belongs to hosts made later.
Status HostFolder::LoadLibrary() {
  if (nvml_library_ != nullptr || settings_.nvml_library.empty() ||
      settings_.arch != Arch::kX86_64) {
    return OkStatus();
  }
  StatusOr<std::string> bytes = ReadFileAt(settings_.nvml_library, kMaxLibraryBytes);
  if (!bytes.ok()) {
    return Annotate(bytes.status(), "--library");
  }
  nvml_library_ = std::make_shared<const std::string>(*std::move(bytes));
  const std::string cuda =
      (std::filesystem::path(settings_.nvml_library).parent_path() / "libcuda.so.1").string();
  // A library of another's making may lie alone: then libcuda stays a stub.
  if (bytes = ReadFileAt(cuda, kMaxLibraryBytes); bytes.ok()) {
    cuda_library_ = std::make_shared<const std::string>(*std::move(bytes));
  }
  const std::string mps =
      (std::filesystem::path(settings_.nvml_library).parent_path() / "nvidia-cuda-mps-control")
          .string();
  if (bytes = ReadFileAt(mps, kMaxLibraryBytes); bytes.ok()) {
    mps_program_ = std::make_shared<const std::string>(*std::move(bytes));
  }
  return OkStatus();
}

StatusOr<WriteReport> HostFolder::Show(const sim::SimState& state) {
  RETURN_IF_ERROR(LoadLibrary());
  HostView view = ViewOf(profile_, settings_, state);
  view.nvml_library = nvml_library_;
  view.cuda_library = cuda_library_;
  view.mps_program = mps_program_;
  view.processes = ProcessesOn(state);
  if (shown_ && shown_->view == view) {
    return WriteReport{};
  }
  Tree tree = PlanTree(view);
  const std::optional<Shown> before = std::exchange(shown_, std::nullopt);
  StatusOr<WriteReport> report = before ? Advance(path_, At(kManifestFile), before->tree, tree)
                                        : Reconcile(path_, At(kManifestFile), tree);
  if (before && !report.ok()) {
    // Somebody has changed the tree: look at what is there.
    report = Reconcile(path_, At(kManifestFile), tree);
  }
  RETURN_IF_ERROR(report.status());
  shown_ = Shown{std::move(view), std::move(tree)};
  return report;
}

Status HostFolder::ReloadSettings() {
  ASSIGN_OR_RETURN(settings_, ReadSettings(path_));
  return OkStatus();
}

Status HostFolder::SetNouveau(bool is_nouveau) {
  settings_.is_nouveau = is_nouveau;
  return sys::WriteFileAtomically(At(kSettingsFile), SettingsToJson(settings_));
}

Status HostFolder::SetCompanions(const Companions& companions) {
  settings_.companions = companions;
  return sys::WriteFileAtomically(At(kSettingsFile), SettingsToJson(settings_));
}

}  // namespace kgpu::simhost
