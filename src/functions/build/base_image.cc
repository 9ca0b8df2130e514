#include "src/functions/build/base_image.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "src/functions/build/digest.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/scratch_folder.h"

namespace kgpu::functions {
namespace {

constexpr std::chrono::minutes kDownloadDeadline{60};
constexpr std::chrono::minutes kUnpackDeadline{15};

constexpr char kFolderName[] = "kgpu-fn-base";

// Unpacks the packages of $1 to $2. /bin and the like are links into /usr, as on Debian itself, and
// stay links although old packages have folders of these names. No maintainer's script runs:
// accounts and the bundle of certificates are what images need of their work.
constexpr std::string_view kUnpack = R"(set -eu
umask 022
mkdir -p "$2/usr/bin" "$2/usr/lib" "$2/usr/lib64" "$2/usr/sbin" "$2/etc" "$2/tmp" "$2/run" \
  "$2/proc" "$2/sys" "$2/dev"
chmod 1777 "$2/tmp"
for folder in bin lib lib64 sbin; do ln -s "usr/$folder" "$2/$folder"; done
for package in "$1"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar -x --keep-directory-symlink --no-same-owner -C "$2" --exclude='./usr/share/doc/*/*' \
      --exclude='./usr/share/info' --exclude='./usr/share/lintian' --exclude='./usr/share/locale/*' \
      --exclude='./usr/share/man'
done
[ -e "$2/etc/passwd" ] || printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' \
  'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin' \
  'function:x:65532:65532:function:/function:/usr/sbin/nologin' >"$2/etc/passwd"
[ -e "$2/etc/group" ] || printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' 'function:x:65532:' \
  >"$2/etc/group"
if [ -d "$2/usr/share/ca-certificates" ]; then
  mkdir -p "$2/etc/ssl/certs"
  find "$2/usr/share/ca-certificates" -name '*.crt' | sort | tr '\n' '\0' |
    xargs -0 cat >"$2/etc/ssl/certs/ca-certificates.crt"
fi
)";

std::string Architecture() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "";
}

// What apt would do on a host on which nothing is installed. It keeps its caches in memory and
// takes no lock: neither needs an admin, nor is in the way of one.
std::vector<std::string> AptArgv(const std::string& apt_get, const std::string& folder) {
  return {apt_get,
          "-q",
          "-y",
          "-o",
          "Dir::State::status=/dev/null",
          "-o",
          "Dir::Cache::archives=" + folder,
          "-o",
          "Dir::Cache::pkgcache=",
          "-o",
          "Dir::Cache::srcpkgcache=",
          "-o",
          "Debug::NoLocking=1",
          "-o",
          "APT::Sandbox::User=root",
          "-o",
          "APT::Get::List-Cleanup=0"};
}

std::string AptReason(const sys::RunResult& result) {
  std::vector<std::string> reasons;
  for (const std::string_view line : Split(result.err, '\n')) {
    if (line.starts_with("E: ")) {
      reasons.emplace_back(line.substr(3));
    }
  }
  return reasons.empty() ? Describe(result) : Join(reasons, "; ");
}

}  // namespace

std::string BaseImageName(const BaseImage& base) {
  Digest digest;
  digest.Add(Architecture());
  digest.Add(kUnpack);
  digest.Add(BaseContainerfile(""));
  for (const std::string& package : base.packages) {
    digest.Add(package);
  }
  return fmt::format("localhost/kgpu-fn-base/{}:{}", base.name, digest.Hex().substr(0, kTagDigits));
}

std::string BaseContainerfile(std::string_view packages_digest) {
  return fmt::format(
      "FROM scratch\n"
      "COPY root/ /\n"
      "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
      "LABEL {}=\"{}\"\n",
      kPackagesLabel, packages_digest);
}

std::string PackagesDigest(const std::vector<std::string>& files) {
  Digest digest;
  for (const std::string& file : files) {
    digest.Add(file);
  }
  return digest.Hex().substr(0, kTagDigits);
}

StatusOr<sys::RunResult> BaseImages::Run(std::vector<std::string> argv,
                                         std::chrono::milliseconds deadline) {
  sys::RunRequest request = sys::RequestOf(host_, std::move(argv), deadline);
  request.environment = environment_;
  request.leads_session = true;  // the folder is removed when it has ended
  return runner_.Run(request);
}

StatusOr<std::optional<std::string>> BaseImages::Find(const BaseImage& base) {
  return builder_.FindLabel(BaseImageName(base), kPackagesLabel);
}

StatusOr<std::string> BaseImages::Make(const BaseImage& base) {
  sys::ScratchFolder::RemoveAbandoned(host_, scratch_, kFolderName);
  ASSIGN_OR_RETURN(const std::unique_ptr<sys::ScratchFolder> folder,
                   sys::ScratchFolder::Make(host_, scratch_, kFolderName));
  std::error_code error;
  std::filesystem::create_directories(folder->path() + "/packages/partial", error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create {}/packages", folder->path()));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files, Download(base, folder->inside()));
  RETURN_IF_ERROR(Annotate(Unpack(folder->inside()), "base image of {}", base.name));
  const std::string digest = PackagesDigest(files);
  RETURN_IF_ERROR(sys::WriteFileAtomically(folder->path() + "/Containerfile",
                                           BaseContainerfile(digest), 0644,
                                           sys::Durability::kMemory));
  const std::string name = BaseImageName(base);
  RETURN_IF_ERROR(builder_.Build({.what = fmt::format("base image of {}", base.name),
                                  .folder = folder->path(),
                                  .names = {name, fmt::format("{}-{}", name, digest)}}));
  return digest;
}

StatusOr<std::vector<std::string>> BaseImages::Download(const BaseImage& base,
                                                        const std::string& folder) {
  const std::string apt_get = sys::FindProgram(host_, "apt-get");
  if (apt_get.empty()) {
    return FailedPrecondition(
        "base image of {}: it is made of Debian's packages, and this host has no apt-get: name an "
        "image to build from in the function's baseImage",
        base.name);
  }
  const std::string archives = folder + "/packages";
  std::vector<std::string> argv = AptArgv(apt_get, archives);
  argv.insert(argv.end(), {"--download-only", "--no-install-recommends", "install", "--"});
  argv.insert(argv.end(), base.packages.begin(), base.packages.end());
  ASSIGN_OR_RETURN(const sys::RunResult result, Run(std::move(argv), kDownloadDeadline));
  if (!result.IsSuccess()) {
    return FailedPrecondition(
        "base image of {}: apt-get: {}: update its lists (apt-get update), or name an image to "
        "build from in the function's baseImage",
        base.name, AptReason(result));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> files, host_.ListDir(archives));
  std::erase_if(files, [](const std::string& name) { return !name.ends_with(".deb"); });
  return files;
}

Status BaseImages::Unpack(const std::string& folder) {
  ASSIGN_OR_RETURN(const sys::RunResult result, Run({"/bin/sh", "-c", std::string(kUnpack), "sh",
                                                     folder + "/packages", folder + "/root"},
                                                    kUnpackDeadline));
  return result.IsSuccess() ? OkStatus()
                            : FailedPrecondition("unpack the packages: {}", Describe(result));
}

}  // namespace kgpu::functions
