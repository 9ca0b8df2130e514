#include "src/diagnose/image/archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "src/diagnose/image/config.h"
#include "src/diagnose/image/layers.h"
#include "src/diagnose/image/tar.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::image {
namespace {

namespace json = boost::json;

constexpr const char* kDockerManifest = "manifest.json";
constexpr const char* kLayoutIndex = "index.json";
constexpr const char* kBundleConfig = "config.json";
constexpr size_t kNestedIndexes = 4;
constexpr size_t kLayerLimit = 500;  // engines mount 128 at most
constexpr size_t kMostNotes = 3;

std::string JoinPath(std::string_view folder, std::string_view path) {
  return fmt::format("{}/{}", folder, path);
}

StatusOr<std::string> ReadText(const BlobStore& store, std::string_view path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<compress::ByteSource> bytes, store.Open(path));
  auto text = compress::ReadWhole(*bytes, kConfigLimit);
  return text.ok() ? std::move(text) : Annotate(text.status(), "{}", store.NameOf(path));
}

StatusOr<json::value> ReadTree(const BlobStore& store, std::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(store, path));
  return doc::Parse(text, doc::Format::kJson, store.NameOf(path), {.bytes = kConfigLimit});
}

const json::value* FindMember(const json::value& value, std::string_view name) {
  const json::object* fields = value.if_object();
  return fields == nullptr ? nullptr : fields->if_contains({name.data(), name.size()});
}

std::string TextAt(const json::value& value, std::string_view name) {
  const json::value* found = FindMember(value, name);
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

// Empty if there is no such list.
std::span<const json::value> ListAt(const json::value& value, std::string_view name) {
  const json::value* found = FindMember(value, name);
  const json::array* list = found == nullptr ? nullptr : found->if_array();
  return list == nullptr ? std::span<const json::value>() : std::span(list->data(), list->size());
}

// "sha256:ab…" as blobs/sha256/ab…: a digest that would lead elsewhere names no blob.
StatusOr<std::string> BlobPath(std::string_view digest) {
  const size_t colon = digest.find(':');
  const std::string_view hex = colon == std::string_view::npos ? "" : digest.substr(colon + 1);
  const bool is_hex = !hex.empty() && hex.find_first_not_of("0123456789abcdef") == hex.npos;
  if (!is_hex || digest.substr(0, colon).find_first_of("./") != std::string_view::npos) {
    return InvalidArgument("\"{}\" is not a digest", Printable(digest, 100));
  }
  return fmt::format("blobs/{}/{}", digest.substr(0, colon), hex);
}

// Reads the layers; one that cannot be read becomes a note, since the others still tell much.
void ReadLayers(const BlobStore& store, const std::vector<std::string>& paths, ImageFacts& image) {
  LibraryCollector collector;
  std::set<std::string_view> seen;  // each is read once, however often it is named
  size_t unread = 0;
  for (const std::string& path : paths) {
    if (!seen.insert(path).second) {
      continue;
    }
    auto layer = seen.size() <= kLayerLimit
                     ? store.Open(path)
                     : OutOfRange("more than {} layers: not a valid image", kLayerLimit);
    const Status status =
        layer.ok() ? ReadLayer(*std::move(layer), collector) : std::move(layer).status();
    if (!status.ok() && ++unread <= kMostNotes) {
      image.notes.push_back(
          fmt::format("layer {}: {}", Printable(path, 100), Printable(Message(status), 300)));
    }
  }
  if (unread > kMostNotes) {
    image.notes.push_back(fmt::format("{} more layers could not be read", unread - kMostNotes));
  }
  image.libraries = collector.Take();
  image.is_looked_into = unread == 0;
}

StatusOr<ImageFacts> ReadParts(const BlobStore& store, const std::string& config,
                               const std::vector<std::string>& layers, const PickOptions& options) {
  ImageFacts image;
  ASSIGN_OR_RETURN(const std::string text, ReadText(store, config));
  RETURN_IF_ERROR(ReadImageConfig(text, store.NameOf(config), image));
  if (options.reads_layers) {
    ReadLayers(store, layers, image);
  }
  return image;
}

Status TooManyImages(const BlobStore& store, const std::vector<std::string>& names) {
  return InvalidArgument("{} has {} images: select one with --name: {}", store.NameOf(""),
                         names.size(), Printable(Join(names, ", "), 300));
}

bool IsNameMeant(std::string_view name, std::string_view wanted) {
  return name == wanted || name.ends_with(fmt::format("/{}", wanted)) ||
         name.ends_with(fmt::format(":{}", wanted));
}

// The one that is meant: by its names, else the only one.
StatusOr<size_t> Pick(const BlobStore& store, const std::vector<std::vector<std::string>>& names,
                      const std::string& wanted) {
  std::vector<std::string> all;
  for (size_t i = 0; i < names.size(); ++i) {
    for (const std::string& name : names[i]) {
      if (!wanted.empty() && IsNameMeant(name, wanted)) {
        return i;
      }
    }
    all.push_back(names[i].empty() ? "(without a name)" : Join(names[i], " = "));
  }
  if (!wanted.empty()) {
    return NotFound("{} has no image {}: it has {}", store.NameOf(""), Printable(wanted, 200),
                    Printable(Join(all, ", "), 300));
  }
  if (names.size() != 1) {
    return TooManyImages(store, all);
  }
  return 0U;
}

// Source: what `docker save` writes: a list of {Config, RepoTags, Layers}.
StatusOr<ImageFacts> ReadDockerArchive(const BlobStore& store, const PickOptions& options) {
  ASSIGN_OR_RETURN(const json::value root, ReadTree(store, kDockerManifest));
  const json::array* images = root.if_array();
  if (images == nullptr || images->empty()) {
    return InvalidArgument("{}: must be a list of images", store.NameOf(kDockerManifest));
  }
  std::vector<std::vector<std::string>> names;
  for (const json::value& image : *images) {
    names.push_back(doc::TextsOf(FindMember(image, "RepoTags")));
  }
  ASSIGN_OR_RETURN(const size_t index, Pick(store, names, options.name));
  const json::value& chosen = images->at(index);
  ASSIGN_OR_RETURN(ImageFacts image,
                   ReadParts(store, TextAt(chosen, "Config"),
                             doc::TextsOf(FindMember(chosen, "Layers")), options));
  image.name = names[index].empty() ? std::string() : names[index].front();
  image.source = "archive of docker save";
  return image;
}

// Picks one of the manifests for several platforms; those without a platform are something else.
const json::value* PickPlatform(std::span<const json::value> manifests,
                                std::string_view architecture) {
  const json::value* first = nullptr;
  for (const json::value& manifest : manifests) {
    const json::value* platform = FindMember(manifest, "platform");
    const std::string name = platform == nullptr ? "" : TextAt(*platform, "architecture");
    const std::string system = platform == nullptr ? "" : TextAt(*platform, "os");
    if (!system.empty() && system != "linux") {
      continue;
    }
    if (name == architecture) {
      return &manifest;
    }
    if (first == nullptr && name != "unknown") {
      first = &manifest;
    }
  }
  return first;
}

StatusOr<ImageFacts> ReadImageManifest(const BlobStore& store, const json::value& manifest,
                                       const PickOptions& options) {
  const json::value* config = FindMember(manifest, "config");
  if (config == nullptr) {
    return InvalidArgument("{} has a manifest without config: not an image", store.NameOf(""));
  }
  ASSIGN_OR_RETURN(const std::string config_path, BlobPath(TextAt(*config, "digest")));
  std::vector<std::string> layers;
  for (const json::value& layer : ListAt(manifest, "layers")) {
    ASSIGN_OR_RETURN(std::string path, BlobPath(TextAt(layer, "digest")));
    layers.push_back(std::move(path));
  }
  return ReadParts(store, config_path, layers, options);
}

// Source: the OCI image specification, "Image Layout".
StatusOr<ImageFacts> ReadLayout(const BlobStore& store, const PickOptions& options) {
  ASSIGN_OR_RETURN(const json::value root, ReadTree(store, kLayoutIndex));
  const std::span<const json::value> manifests = ListAt(root, "manifests");
  std::vector<std::vector<std::string>> names;
  for (const json::value& manifest : manifests) {
    const json::value* notes = FindMember(manifest, "annotations");
    std::vector<std::string> both;
    for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
      std::string name = notes == nullptr ? std::string() : TextAt(*notes, key);
      if (!name.empty()) {
        both.push_back(std::move(name));
      }
    }
    names.push_back(std::move(both));
  }
  const json::value* chosen = nullptr;
  const bool is_of_platforms = !manifests.empty() && options.name.empty() &&
                               std::ranges::all_of(manifests, [](const json::value& manifest) {
                                 return FindMember(manifest, "platform") != nullptr;
                               });
  if (is_of_platforms) {
    chosen = PickPlatform(manifests, options.architecture);
  } else {
    ASSIGN_OR_RETURN(const size_t index, Pick(store, names, options.name));
    chosen = &manifests[index];
  }
  if (chosen == nullptr) {
    return InvalidArgument("{} has no manifest of an image", store.NameOf(kLayoutIndex));
  }
  ASSIGN_OR_RETURN(ImageFacts image, ReadManifest(store, TextAt(*chosen, "digest"), options));
  const auto index = static_cast<size_t>(chosen - manifests.data());
  image.name = names[index].empty() ? std::string() : names[index].front();
  image.source = "OCI image layout";
  return image;
}

StatusOr<ImageFacts> ReadStore(const BlobStore& store, const PickOptions& options) {
  // Newer docker writes both into one archive; its own list has the names that people know.
  if (store.Open(kDockerManifest).ok()) {
    return ReadDockerArchive(store, options);
  }
  if (store.Open(kLayoutIndex).ok()) {
    return ReadLayout(store, options);
  }
  return InvalidArgument(
      "{} has neither {} nor {}: not an image written by docker save, podman save or skopeo",
      store.NameOf(""), kDockerManifest, kLayoutIndex);
}

// Many a folder has a config.json.
bool IsBundle(const sys::Root& root, const std::string& folder) {
  const auto text = root.ReadFile(JoinPath(folder, kBundleConfig), kConfigLimit);
  return text.ok() && IsBundleConfig(*text);
}

bool IsImageFolder(const sys::Root& root, const std::string& folder) {
  return root.Exists(JoinPath(folder, kLayoutIndex)) ||
         root.Exists(JoinPath(folder, kDockerManifest));
}

StatusOr<ImageFacts> ReadBundle(const sys::Root& root, const std::string& folder,
                                const PickOptions& options) {
  const std::string file = JoinPath(folder, kBundleConfig);
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(file, kConfigLimit));
  ImageFacts image;
  ASSIGN_OR_RETURN(const std::string rootfs, ReadBundleConfig(text, root.At(file), image));
  image.name = folder;
  image.source = "bundle of an OCI runtime";
  if (!options.reads_layers) {
    return image;
  }
  LibraryCollector collector;
  const StatusOr<size_t> unread =
      ReadLayerFolder(root, rootfs.starts_with('/') ? rootfs : JoinPath(folder, rootfs), collector);
  image.libraries = collector.Take();
  image.is_looked_into = unread.ok() && *unread == 0;
  if (!unread.ok()) {
    image.notes.push_back(Printable(Message(unread.status()), 300));
  } else if (*unread > 0) {
    image.notes.push_back(
        fmt::format("{} of its folders are unreadable: run as root to read them", *unread));
  }
  return image;
}

// How to unpack a file that one program packed as a whole; empty: it is not packed.
std::string_view UnpackerOf(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) {
    return "gunzip";
  }
  return head.starts_with("\x28\xb5\x2f\xfd") ? "zstd -d" : "";
}

}  // namespace

bool IsArchive(const sys::Root& root, const std::string& path) {
  const auto stat = root.Stat(path);
  return stat.ok() && (S_ISREG(stat->st_mode) || IsImageFolder(root, path) || IsBundle(root, path));
}

StatusOr<ImageFacts> ReadArchive(const sys::Root& root, const std::string& path,
                                 const PickOptions& options) {
  ASSIGN_OR_RETURN(const struct stat stat, root.Stat(path));
  if (S_ISDIR(stat.st_mode)) {
    if (!IsImageFolder(root, path) && IsBundle(root, path)) {
      return ReadBundle(root, path, options);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<BlobStore> folder, OpenFolderStore(root, path));
    return ReadStore(*folder, options);
  }
  ASSIGN_OR_RETURN(UniqueFd fd, root.OpenFile(path, O_RDONLY | O_NONBLOCK));
  constexpr size_t kMagicBytes = 4;
  std::array<char, kMagicBytes> head{};
  ASSIGN_OR_RETURN(const size_t got, compress::FilePart(fd.get(), 0, head.size()).Read(head));
  if (const std::string_view unpacker = UnpackerOf({head.data(), got}); !unpacker.empty()) {
    return InvalidArgument(
        "{0} is compressed as a whole and cannot be searched: {1} < {2} > image.tar; kgpu doctor "
        "image image.tar",
        Printable(root.At(path)), unpacker, ShellWord(root.At(path)));
  }
  return ReadTarArchive(std::move(fd), Printable(root.At(path)), options);
}

StatusOr<ImageFacts> ReadTarArchive(UniqueFd fd, const std::string& name,
                                    const PickOptions& options) {
  const auto store = OpenTarStore(std::move(fd), name);
  if (!store.ok()) {
    return Annotate(store.status(), "{}: not an image", name);
  }
  return ReadStore(**store, options);
}

StatusOr<ImageFacts> ReadManifest(const BlobStore& store, std::string_view digest,
                                  const PickOptions& options) {
  std::string at(digest);
  for (size_t i = 0; i < kNestedIndexes; ++i) {
    ASSIGN_OR_RETURN(const std::string path, BlobPath(at));
    ASSIGN_OR_RETURN(const json::value manifest, ReadTree(store, path));
    const std::span<const json::value> manifests = ListAt(manifest, "manifests");
    if (manifests.empty()) {
      return ReadImageManifest(store, manifest, options);
    }
    const json::value* chosen = PickPlatform(manifests, options.architecture);
    if (chosen == nullptr) {
      break;
    }
    at = TextAt(*chosen, "digest");
  }
  return InvalidArgument("{} does not lead to an image manifest", store.NameOf(digest));
}

}  // namespace kgpu::image
