#include "src/host/facts/package_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/host/facts/installed_packages.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::host {
namespace {

constexpr std::string_view kDpkgInfo = "var/lib/dpkg/info";
constexpr std::string_view kAlternatives = "var/lib/dpkg/alternatives";
constexpr size_t kFileListLimit = size_t{16} << 20;
constexpr std::string_view kMd5OfNothing = "d41d8cd98f00b204e9800998ecf8427e";
constexpr std::chrono::seconds kRpmDeadline{60};

// A file that a package brings.
struct OwnedFile {
  std::string path;
  bool is_empty = false;  // in the package, too
};
// By package; with its architecture where dpkg's database has several: "libcuda1:i386".
using OwnedFiles = std::map<std::string, std::vector<OwnedFile>>;

// Files that package managers may be configured to leave out, that are generated, or that a driver
// does not need.
bool IsPassedOver(std::string_view path) {
  constexpr std::array<std::string_view, 11> kFolders = {"/boot/",
                                                         "/run/",
                                                         "/usr/include/",
                                                         "/usr/share/bug/",
                                                         "/usr/share/doc/",
                                                         "/usr/share/info/",
                                                         "/usr/share/lintian/",
                                                         "/usr/share/locale/",
                                                         "/usr/share/man/",
                                                         "/usr/src/",
                                                         "/var/"};
  return !path.starts_with('/') || std::ranges::any_of(kFolders, [path](std::string_view folder) {
    return path.starts_with(folder);
  });
}

// Files that other packages have diverted: theirs are in that place.
std::set<std::string, std::less<>> DivertedFiles(const sys::Root& root) {
  const std::string text = root.ReadFile("var/lib/dpkg/diversions", kFileListLimit).value_or("");
  const std::vector<std::string_view> lines = Split(text, '\n');
  std::set<std::string, std::less<>> diverted;
  for (size_t i = 0; i + 2 < lines.size(); i += 3) {  // from, to, by whom
    diverted.emplace(lines[i]);
  }
  return diverted;
}

// Paths of a package that are empty files in it.
std::set<std::string> EmptyInPackage(const sys::Root& root, std::string_view stem) {
  const std::string text =
      root.ReadFile(fmt::format("{}/{}.md5sums", kDpkgInfo, stem), kFileListLimit).value_or("");
  std::set<std::string> empty;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(kMd5OfNothing)) {
      empty.insert(fmt::format("/{}", Trim(line.substr(kMd5OfNothing.size()))));
    }
  }
  return empty;
}

// Reads files such as "libcuda1:amd64.list", which list a folder right before its content.
OwnedFiles FilesByDpkg(const sys::Root& root, const Packages& packages) {
  const auto diverted = DivertedFiles(root);
  OwnedFiles files;
  for (const std::string& name : root.ListDir(kDpkgInfo).value_or(std::vector<std::string>())) {
    const std::string stem = name.substr(0, name.rfind('.'));
    const std::string package = stem.substr(0, stem.find(':'));
    if (!name.ends_with(".list") || !IsDriverPackage(package) || !packages.contains(package)) {
      continue;
    }
    const std::string text =
        root.ReadFile(fmt::format("{}/{}", kDpkgInfo, name), kFileListLimit).value_or("");
    const std::set<std::string> empty = EmptyInPackage(root, stem);
    const std::vector<std::string_view> lines = Split(text, '\n');
    std::vector<OwnedFile>& owned = files[stem];
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string path(lines[i]);
      const bool is_folder = i + 1 < lines.size() && lines[i + 1].starts_with(path + "/");
      if (!is_folder && !IsPassedOver(path) && !diverted.contains(path)) {
        owned.push_back({.path = path, .is_empty = empty.contains(path)});
      }
    }
  }
  return files;
}

// "name\tflags\tsize\tpath" a line; documentation, files that need not be there and those that are
// only noted have a flag.
OwnedFiles ParseRpmFiles(std::string_view text) {
  OwnedFiles files;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(line, '\t');
    const bool is_file = fields.size() == 4 && IsDriverPackage(fields[0]);
    if (is_file && fields[1].find_first_of("dglmr") == std::string_view::npos &&
        !IsPassedOver(fields[3])) {
      files[std::string(fields[0])].push_back(
          {.path = std::string(fields[3]), .is_empty = fields[2] == "0"});
    }
  }
  return files;
}

StatusOr<OwnedFiles> FilesByRpm(const std::string& rpm, const sys::Root& root,
                                sys::ProgramRunner& runner) {
  sys::RunRequest request =
      sys::RequestOf(root,
                     {rpm, "-qa", "--queryformat",
                      "[%{=NAME}\\t%{FILEFLAGS:fflags}\\t%{FILESIZES}\\t%{FILENAMES}\\n]",
                      "*nvidia*", "libcuda*", "libnv*", "cuda-drivers*"},
                     kRpmDeadline);
  request.output_limit = kFileListLimit;
  const StatusOr<sys::RunResult> result = runner.Run(request);
  if (!result.ok()) {
    return result.status();
  }
  return result->IsSuccess() ? StatusOr<OwnedFiles>(ParseRpmFiles(result->out))
                             : FailedPrecondition("{}: {}", rpm, sys::Describe(*result));
}

// "/a/b is missing", "/a/b is empty"; empty: nothing is wrong with it.
std::string ProblemOf(const sys::Root& root, const OwnedFile& file) {
  const StatusOr<struct stat> info = root.LinkStat(file.path);
  if (!info.ok()) {
    return info.status().code() == StatusCode::kNotFound ? fmt::format("{} is missing", file.path)
                                                         : "";
  }
  const bool is_emptied = S_ISREG(info->st_mode) && info->st_size == 0 && !file.is_empty;
  return is_emptied ? fmt::format("{} is empty", file.path) : "";
}

// The command that restores a package's files. dpkg leaves out a configuration file that was
// deleted unless an option is given.
std::string ReinstallCommand(const sys::Root& root, std::string_view package, bool is_config) {
  if (!sys::FindProgram(root, "apt-get").empty()) {
    return fmt::format("apt-get install --reinstall {}{}",
                       is_config ? "-o DPkg::Options::=--force-confmiss " : "", package);
  }
  for (const std::string_view program : {"dnf", "yum"}) {
    if (!sys::FindProgram(root, program).empty()) {
      return fmt::format("{} reinstall {}", program, package);
    }
  }
  return sys::FindProgram(root, "zypper").empty()
             ? fmt::format("reinstall the package {}", package)
             : fmt::format("zypper install --force {}", package);
}

void AddFailed(const std::string& problem, std::string fix, PackageFiles& seen) {
  seen.failed.push_back(fmt::format("{}: {}", problem, fix));
  seen.fixes.push_back(std::move(fix));
}

void CheckOwned(const sys::Root& root, const OwnedFiles& files, PackageFiles& seen) {
  for (const auto& [package, owned] : files) {
    std::string first;
    size_t count = 0;
    bool is_config = false;
    for (const OwnedFile& file : owned) {
      std::string problem = ProblemOf(root, file);
      if (!problem.empty()) {
        ++count;
        is_config |= file.path.starts_with("/etc/");
        first = first.empty() ? std::move(problem) : first;
      }
    }
    ++seen.packages;
    if (count > 0) {
      const std::string more =
          count > 1 ? fmt::format(", and {} more of its files are missing or empty", count - 1)
                    : "";
      AddFailed(fmt::format("package {}: {}{}", package, first, more),
                ReinstallCommand(root, package, is_config), seen);
    }
  }
}

// One group of alternatives: how it was chosen, its link and those that follow it, each with a
// name; a blank line; then each choice with its priority and what those links lead to there.
void CheckAlternative(const sys::Root& root, const std::string& name, PackageFiles& seen) {
  const std::string text =
      root.ReadFile(fmt::format("{}/{}", kAlternatives, name), kFileListLimit).value_or("");
  const std::string chosen = root.ReadLink(fmt::format("etc/alternatives/{}", name)).value_or("");
  const std::vector<std::string_view> lines = Split(text, '\n');
  const size_t blank = static_cast<size_t>(std::ranges::find(lines, "") - lines.begin());
  if (blank < 2 || blank >= lines.size() || chosen.empty()) {
    return;
  }
  const size_t slaves = (blank - 2) / 2;
  for (size_t choice = blank + 1; choice + 1 + slaves < lines.size(); choice += 2 + slaves) {
    for (size_t i = 0; lines[choice] == chosen && i < slaves; ++i) {
      const std::string link(lines[3 + 2 * i]);
      const std::string target(lines[choice + 2 + i]);
      // A target that is gone is reported with its package.
      if (!target.empty() && root.Exists(target) && !root.Exists(link)) {
        AddFailed(fmt::format("alternative {}: {} is missing, the link to {}", name, link, target),
                  fmt::format("update-alternatives --{}",
                              lines[0] == "auto" ? fmt::format("auto {}", name)
                                                 : fmt::format("set {} {}", name, chosen)),
                  seen);
      }
    }
  }
}

}  // namespace

PackageFiles CheckPackageFiles(const sys::Root& root, sys::ProgramRunner& runner) {
  PackageFiles seen;
  if (const auto status = root.ReadFile("var/lib/dpkg/status", kPackagesLimit); status.ok()) {
    CheckOwned(root, FilesByDpkg(root, ParseDpkgStatus(*status)), seen);
    for (const std::string& name :
         root.ListDir(kAlternatives).value_or(std::vector<std::string>())) {
      if (name.starts_with("nvidia") || name == "glx") {
        CheckAlternative(root, name, seen);
      }
    }
  } else if (const std::string rpm = sys::FindProgram(root, "rpm"); !rpm.empty()) {
    const StatusOr<OwnedFiles> files = FilesByRpm(rpm, root, runner);
    if (files.ok()) {
      CheckOwned(root, *files, seen);
    } else {
      seen.skipped.push_back(
          fmt::format("the files of the driver's packages: {}", Message(files.status())));
    }
  }
  return seen;
}

}  // namespace kgpu::host
