#include "src/diagnose/image/store.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "src/diagnose/image/config.h"
#include "src/diagnose/image/layers.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/scratch_folder.h"

namespace kgpu::image {
namespace {

struct Store {
  StoreKind kind = StoreKind::kDocker;
  std::string_view word;
  const char* program;
  std::string_view pull;  // a command that fetches an image, its name left out
};

constexpr std::array<Store, 4> kStores = {{
    {StoreKind::kDocker, "docker", "docker", "docker pull"},
    {StoreKind::kPodman, "podman", "podman", "podman pull"},
    {StoreKind::kContainerd, "containerd", "ctr", "ctr --namespace k8s.io images pull"},
    {StoreKind::kCri, "cri", "crictl", "crictl pull"},
}};

struct Variable {
  std::string_view name;
  bool is_address = false;  // of an engine, or what it takes to be let in there
};

constexpr std::array<Variable, 14> kVariables = {{{"HOME"},
                                                  {"XDG_RUNTIME_DIR"},
                                                  {"XDG_CONFIG_HOME"},
                                                  {"XDG_DATA_HOME"},
                                                  {"DOCKER_HOST", true},
                                                  {"DOCKER_CONFIG", true},
                                                  {"DOCKER_CONTEXT", true},
                                                  {"DOCKER_TLS_VERIFY", true},
                                                  {"DOCKER_CERT_PATH", true},
                                                  {"CONTAINER_HOST", true},
                                                  {"CONTAINERS_STORAGE_CONF"},
                                                  {"CONTAINERD_ADDRESS", true},
                                                  {"CONTAINERD_NAMESPACE"},
                                                  {"CONTAINER_RUNTIME_ENDPOINT", true}}};

constexpr std::chrono::milliseconds kDeadline{120'000};  // a busy machine's disk is slow
// Some images have tens of gigabytes.
constexpr std::chrono::milliseconds kSaveDeadline{1'800'000};
// Where containerd keeps its content: its own, k3s's and RKE2's, k0s's.
constexpr std::array<const char*, 3> kContentFolders = {
    "/var/lib/containerd/io.containerd.content.v1.content",
    "/var/lib/rancher/k3s/agent/containerd/io.containerd.content.v1.content",
    "/var/lib/k0s/containerd/io.containerd.content.v1.content"};
// Where containerd listens, of its own, of k3s and RKE2, of k0s, of microk8s.
constexpr std::array<const char*, 4> kContainerdSockets = {
    "/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock",
    "/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock"};
constexpr std::array<const char*, 3> kNamespaces = {"k8s.io", "default", "moby"};

class Asker {
 public:
  Asker(const sys::Root& host, sys::ProgramRunner& runner, const StoreOptions& options)
      : host_(host), runner_(runner), options_(options) {}

  // Errors: NotFound (no such image, or no such program), those of the program.
  StatusOr<ImageFacts> Ask(const Store& store, const std::string& name) {
    const std::string program = sys::FindProgram(host_, store.program);
    if (program.empty()) {
      return NotFound("{} is not installed", store.program);
    }
    StatusOr<ImageFacts> image = AskBy(store, program, name);
    if (image.ok()) {
      image->name = name;
      image->source = fmt::format("store of {}", store.word);
    }
    return image;
  }

 private:
  StatusOr<ImageFacts> AskBy(const Store& store, const std::string& program,
                             const std::string& name) {
    switch (store.kind) {
      case StoreKind::kContainerd:
        return AskContainerd(program, name);
      case StoreKind::kCri:
        return AskCri(program, name);
      case StoreKind::kDocker:
      case StoreKind::kPodman:
        break;
    }
    return AskInspect(store, program, name);
  }

  StatusOr<std::string> Run(std::vector<std::string> argv) {
    return Run(RequestFor(std::move(argv), kDeadline));
  }
  StatusOr<std::string> Run(const sys::RunRequest& request) {
    ASSIGN_OR_RETURN(sys::RunResult result, runner_.Run(request));
    if (!result.IsSuccess()) {
      return NotFound("{}", Printable(sys::Describe(result), 300));
    }
    return std::move(result.out);
  }
  sys::RunRequest RequestFor(std::vector<std::string> argv,
                             std::chrono::milliseconds deadline) const {
    sys::RunRequest request;
    request.argv = std::move(argv);
    request.environment.insert(request.environment.end(), options_.environment.begin(),
                               options_.environment.end());
    request.root = host_.path();
    request.deadline = deadline;
    request.output_limit = kConfigLimit;
    return request;
  }

  StatusOr<ImageFacts> AskInspect(const Store& store, const std::string& program,
                                  const std::string& name) {
    ASSIGN_OR_RETURN(const std::string text, Run({program, "image", "inspect", name}));
    ImageFacts image;
    ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                     ReadInspect(text, fmt::format("{} image inspect", store.word), image));
    if (options_.pick.reads_layers) {
      ReadFolders(store, folders, image);
    }
    if (options_.pick.reads_layers && !image.is_looked_into && !options_.save_folder.empty()) {
      return Save(program, name);
    }
    return image;
  }

  StatusOr<ImageFacts> Save(const std::string& program, const std::string& name) {
    ASSIGN_OR_RETURN(UniqueFd archive, SaveAndOpen(program, name));
    PickOptions pick = options_.pick;
    pick.name.clear();
    return ReadTarArchive(std::move(archive), fmt::format("the output of {} save", program), pick);
  }

  // The archive has no name any more: its space is free again when this process ends, however it
  // ends. Until then it lies in a folder that only its user can enter, for its name is known.
  StatusOr<UniqueFd> SaveAndOpen(const std::string& program, const std::string& name) {
    const auto scratch = sys::ScratchFolder::Make(host_, options_.save_folder, "kgpu-image");
    if (!scratch.ok()) {
      return Annotate(scratch.status(), "--save");
    }
    const std::string path = fmt::format("{}/image.tar", (*scratch)->inside());
    sys::RunRequest request = RequestFor({program, "save", "--output", path, name}, kSaveDeadline);
    request.leads_session = true;
    if (const auto saved = Run(request); !saved.ok()) {
      return Annotate(saved.status(), "saving it to {}", path);
    }
    return host_.OpenFile(path, O_RDONLY);
  }

  // If the layers cannot be read, they can still be saved; that takes space, so it is done only on
  // request.
  void ReadFolders(const Store& store, const std::vector<std::string>& folders, ImageFacts& image) {
    LibraryCollector collector;
    size_t unread = 0;
    Status status;
    for (const std::string& folder : folders) {
      const StatusOr<size_t> closed = ReadLayerFolder(host_, folder, collector);
      unread += closed.ok() ? *closed : 0;
      status.Update(closed.status());
    }
    image.libraries = collector.Take();
    image.is_looked_into = !folders.empty() && unread == 0 && status.ok();
    if (folders.empty()) {
      image.notes.push_back(fmt::format(
          "{} does not report where the layers are: use --save FOLDER to read them", store.word));
    } else if (!status.ok()) {
      image.notes.push_back(
          fmt::format("not all layers were read: {}: run as root, or use --save FOLDER",
                      Printable(Message(status), 300)));
    } else if (unread > 0) {
      image.notes.push_back(fmt::format(
          "{} folders of the layers are unreadable: run as root, or use --save FOLDER", unread));
    }
  }

  StatusOr<ImageFacts> AskCri(const std::string& program, const std::string& name) {
    ASSIGN_OR_RETURN(const std::string text, Run({program, "inspecti", "--output", "json", name}));
    ImageFacts image;
    RETURN_IF_ERROR(ReadCriImage(text, "crictl inspecti", image));
    image.notes.emplace_back("crictl shows only an image's configuration: its files were not read");
    return image;
  }

  // "NAME TYPE DIGEST SIZE …", a line each below a head.
  static std::string DigestIn(std::string_view list, const std::string& name) {
    for (const std::string_view line : Split(list, '\n')) {
      const std::vector<std::string_view> words = Words(line);
      if (words.size() >= 3 && words[0] == name) {
        return std::string(words[2]);
      }
    }
    return "";
  }

  // ctr waits ten seconds for a socket that does not exist.
  bool HasContainerd() const {
    return std::ranges::any_of(
               options_.environment,
               [](const std::string& entry) { return entry.starts_with("CONTAINERD_ADDRESS="); }) ||
           std::ranges::any_of(kContainerdSockets,
                               [this](const char* path) { return host_.Exists(path); });
  }

  StatusOr<ImageFacts> AskContainerd(const std::string& program, const std::string& name) {
    if (!HasContainerd()) {
      return NotFound("containerd is not running: {} does not exist", kContainerdSockets.front());
    }
    Status status =
        NotFound("no image of that name; use the full name: docker.io/library/{}", name);
    for (const char* space : kNamespaces) {
      // It waits ten seconds for a containerd that does not run.
      const auto list =
          Run({program, "--connect-timeout", "2s", "--namespace", space, "images", "list"});
      if (!list.ok()) {
        return list.status();
      }
      if (const std::string digest = DigestIn(*list, name); !digest.empty()) {
        return ReadContent(program, space, digest, name);
      }
    }
    return status;
  }

  // The blobs as containerd's program prints them; layers are read from where they are stored.
  class Content final : public BlobStore {
   public:
    Content(Asker& asker, std::string program, std::string space)
        : asker_(asker), program_(std::move(program)), space_(std::move(space)) {}

    StatusOr<std::unique_ptr<compress::ByteSource>> Open(std::string_view path) const override;
    std::string NameOf(std::string_view path) const override {
      return fmt::format("containerd's {}", Printable(path, 100));
    }

   private:
    Asker& asker_;
    std::string program_;
    std::string space_;
  };

  StatusOr<ImageFacts> ReadContent(const std::string& program, const std::string& space,
                                   const std::string& digest, const std::string& name) {
    ASSIGN_OR_RETURN(ImageFacts image,
                     ReadManifest(Content(*this, program, space), digest, options_.pick));
    if (options_.pick.reads_layers && !image.is_looked_into) {
      image.notes.push_back(fmt::format(
          "containerd may have discarded the packed layers after unpacking "
          "(discard_unpacked_layers): restore them with ctr --namespace {} content fetch {}",
          space, ShellWord(name)));
    }
    return image;
  }

  const sys::Root& host_;
  sys::ProgramRunner& runner_;
  const StoreOptions& options_;
};

// A blob that was printed.
class PrintedBlob final : public compress::ByteSource {
 public:
  explicit PrintedBlob(std::string text) : text_(std::move(text)), source_(text_) {}
  StatusOr<size_t> Read(std::span<char> out) override { return source_.Read(out); }
  Status Skip(uint64_t count) override { return source_.Skip(count); }

 private:
  std::string text_;
  compress::TextSource source_;
};

StatusOr<std::unique_ptr<compress::ByteSource>> Asker::Content::Open(std::string_view path) const {
  for (const char* folder : kContentFolders) {
    auto blob = OpenFileOf(asker_.host_, fmt::format("{}/{}", folder, path));
    if (blob.ok()) {
      return blob;
    }
  }
  // "blobs/sha256/ab…" as a digest.
  std::string digest(path.substr(path.find('/') + 1));
  std::ranges::replace(digest, '/', ':');
  ASSIGN_OR_RETURN(std::string text,
                   asker_.Run({program_, "--namespace", space_, "content", "get", digest}));
  if (text.size() >= kConfigLimit) {
    return OutOfRange("only root can read such a large blob of containerd");
  }
  return std::make_unique<PrintedBlob>(std::move(text));
}

}  // namespace

StatusOr<StoreKind> ParseStoreKind(std::string_view text) {
  const auto* const found = std::ranges::find(kStores, text, &Store::word);
  if (found == kStores.end()) {
    return InvalidArgument("\"{}\" must be docker, podman, containerd or cri", Printable(text, 40));
  }
  return found->kind;
}

StatusOr<ImageFacts> FindImage(const sys::Root& host, sys::ProgramRunner& runner,
                               const std::string& name, const StoreOptions& options) {
  if (!IsImageName(name)) {
    return InvalidArgument("\"{}\" is neither a file nor the name of an image",
                           Printable(name, 200));
  }
  Asker asker(host, runner, options);
  std::string said;
  std::string pulls;
  for (const Store& store : kStores) {
    if (!options.kinds.empty() &&
        std::ranges::find(options.kinds, store.kind) == options.kinds.end()) {
      continue;
    }
    StatusOr<ImageFacts> image = asker.Ask(store, name);
    if (image.ok()) {
      return image;
    }
    said += fmt::format("\n  {}: {}", store.word, Message(image.status()));
    if (!sys::FindProgram(host, store.program).empty()) {
      pulls += fmt::format("{}{} {}", pulls.empty() ? "" : "; or ", store.pull, ShellWord(name));
    }
  }
  return NotFound("no engine{} has the image {}: pull it first: {}{}",
                  host.path() == "/" ? " of this host" : fmt::format(" below {}", host.path()),
                  name,
                  pulls.empty() ? "no engine is installed: save the image elsewhere and name the "
                                  "file: podman save -o image.tar IMAGE"
                                : pulls,
                  said);
}

std::vector<std::string> EngineEnvironment(const std::vector<std::string>& environment,
                                           bool is_own) {
  std::vector<std::string> chosen;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    const auto* const known = std::ranges::find(kVariables, name, &Variable::name);
    if (known != kVariables.end() && (is_own || !known->is_address)) {
      chosen.push_back(entry);
    }
  }
  return chosen;
}

}  // namespace kgpu::image
