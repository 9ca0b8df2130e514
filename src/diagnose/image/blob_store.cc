#include "src/diagnose/image/blob_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <limits>
#include <map>
#include <span>
#include <utility>

#include "src/diagnose/image/layers.h"
#include "src/diagnose/image/tar.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

// An image has some hundred parts.
constexpr size_t kArchiveEntryLimit = 100'000;

class OwnFile final : public compress::ByteSource {
 public:
  explicit OwnFile(UniqueFd fd)
      : fd_(std::move(fd)), part_(fd_.get(), 0, std::numeric_limits<int64_t>::max()) {}
  StatusOr<size_t> Read(std::span<char> out) override { return part_.Read(out); }
  Status Skip(uint64_t count) override { return part_.Skip(count); }

 private:
  UniqueFd fd_;
  compress::FilePart part_;
};

class FolderStore final : public BlobStore {
 public:
  explicit FolderStore(sys::Root folder) : folder_(std::move(folder)) {}

  StatusOr<std::unique_ptr<compress::ByteSource>> Open(std::string_view path) const override {
    return OpenFileOf(folder_, std::string(path));
  }
  std::string NameOf(std::string_view path) const override {
    return Printable(folder_.At(path), 300);
  }

 private:
  sys::Root folder_;
};

class TarStore final : public BlobStore {
 public:
  TarStore(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Status FindEntries() {
    compress::FilePart whole(fd_.get(), 0, std::numeric_limits<int64_t>::max());
    TarReader reader(whole);
    TarEntry entry;
    for (size_t i = 0; i < kArchiveEntryLimit; ++i) {
      ASSIGN_OR_RETURN(const bool is_entry, reader.Next(entry));
      if (!is_entry) {
        return OkStatus();
      }
      if (entry.path.size() <= kPathLimit) {
        entries_.insert_or_assign(entry.path, entry);
      }
    }
    return OutOfRange("more than {} files", kArchiveEntryLimit);
  }

  StatusOr<std::unique_ptr<compress::ByteSource>> Open(std::string_view path) const override {
    const auto found = entries_.find(path);
    if (found == entries_.end()) {
      return NotFound("{}: not in the archive", NameOf(path));
    }
    return std::make_unique<compress::FilePart>(fd_.get(), found->second.offset,
                                                found->second.size);
  }
  std::string NameOf(std::string_view path) const override {
    return fmt::format("{}: {}", name_, Printable(path, 200));
  }

 private:
  UniqueFd fd_;
  std::string name_;
  std::map<std::string, TarEntry, std::less<>> entries_;
};

}  // namespace

StatusOr<std::unique_ptr<compress::ByteSource>> OpenFileOf(const sys::Root& root,
                                                           const std::string& path) {
  ASSIGN_OR_RETURN(const struct stat stat, root.Stat(path));
  if (!S_ISREG(stat.st_mode)) {
    return InvalidArgument("{}: must be a file", Printable(root.At(path), 300));
  }
  ASSIGN_OR_RETURN(UniqueFd fd, root.OpenFile(path, O_RDONLY | O_NONBLOCK));
  return std::make_unique<OwnFile>(std::move(fd));
}

StatusOr<std::unique_ptr<BlobStore>> OpenFolderStore(const sys::Root& root,
                                                     const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string real, root.Resolve(folder));
  ASSIGN_OR_RETURN(sys::Root own, sys::Root::Open(root.At(real)));
  return std::make_unique<FolderStore>(std::move(own));
}

StatusOr<std::unique_ptr<BlobStore>> OpenTarStore(UniqueFd fd, std::string name) {
  auto store = std::make_unique<TarStore>(std::move(fd), std::move(name));
  RETURN_IF_ERROR(store->FindEntries());
  return store;
}

}  // namespace kgpu::image
