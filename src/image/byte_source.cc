#include "src/image/byte_source.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/base/status_macros.h"

namespace kgpu::image {
namespace {

constexpr std::string_view kGzipHead = "\x1f\x8b";
constexpr std::string_view kZstdHead = "\x28\xb5\x2f\xfd";
constexpr size_t kPieceBytes = size_t{64} << 10;

Status SkipByReading(ByteSource& source, uint64_t count) {
  std::array<char, size_t{16} << 10> dropped{};
  while (count > 0) {
    const size_t wanted = std::min<uint64_t>(count, dropped.size());
    ASSIGN_OR_RETURN(const size_t got, source.Read(std::span(dropped).first(wanted)));
    if (got == 0) {
      break;
    }
    count -= got;
  }
  return OkStatus();
}

// The first bytes, which were looked at, before the rest.
class WithHead final : public ByteSource {
 public:
  WithHead(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  StatusOr<size_t> Read(std::span<char> out) override {
    if (at_ == head_.size()) {
      return rest_->Read(out);
    }
    const size_t got = head_.copy(out.data(), out.size(), at_);
    at_ += got;
    return got;
  }
  Status Skip(uint64_t count) override {
    const uint64_t ours = std::min<uint64_t>(count, head_.size() - at_);
    at_ += ours;
    return rest_->Skip(count - ours);
  }

 private:
  std::string head_;
  size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

// One gzip stream after the other: parallel packers write many.
class Gunzip final : public ByteSource {
 public:
  Gunzip(std::unique_ptr<ByteSource> packed, uint64_t limit)
      : packed_(std::move(packed)), left_(limit) {}
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() override { (void)inflateEnd(&stream_); }

  Status Open() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    return inflateInit2(&stream_, kGzipOnly) == Z_OK
               ? OkStatus()
               : ResourceExhausted("no memory to unpack gzip with");
  }

  StatusOr<size_t> Read(std::span<char> out) override {
    while (!is_done_) {
      RETURN_IF_ERROR(Fill());
      if (stream_.avail_in == 0) {
        return is_within_ ? StatusOr<size_t>(InvalidArgument("the packed bytes end too early"))
                          : StatusOr<size_t>(0U);
      }
      ASSIGN_OR_RETURN(const size_t got, Inflate(out));
      if (got > 0) {
        return got;
      }
    }
    return 0U;
  }
  Status Skip(uint64_t count) override { return SkipByReading(*this, count); }

 private:
  Status Fill() {
    if (stream_.avail_in > 0) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const size_t got, packed_->Read(piece_));
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return OkStatus();
  }

  StatusOr<size_t> Inflate(std::span<char> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const size_t got = out.size() - stream_.avail_out;
    if (got > left_) {
      return OutOfRange("more bytes come out than are looked at");
    }
    left_ -= got;
    if (result == Z_STREAM_END) {
      is_within_ = false;
      (void)inflateReset(&stream_);
    } else if (result == Z_OK || result == Z_BUF_ERROR) {
      is_within_ = true;
    } else if (!is_within_ && has_begun_) {
      is_done_ = true;  // filling after the last stream, as tools leave it
    } else {
      return InvalidArgument("the packed bytes are broken");
    }
    has_begun_ = true;
    return got;
  }

  std::unique_ptr<ByteSource> packed_;
  uint64_t left_;
  z_stream stream_{};
  std::array<char, kPieceBytes> piece_{};
  bool is_within_ = false;  // a stream that has not ended
  bool has_begun_ = false;
  bool is_done_ = false;
};

}  // namespace

StatusOr<size_t> FilePart::Read(std::span<char> out) {
  const size_t wanted = std::min<uint64_t>(out.size(), end_ - at_);
  if (wanted == 0) {
    return 0U;
  }
  ssize_t got = -1;
  do {
    got = pread(fd_, out.data(), wanted, static_cast<off_t>(at_));
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return ErrnoStatus(errno, "read");
  }
  at_ += static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

Status FilePart::Skip(uint64_t count) {
  at_ += std::min(count, end_ - at_);
  return OkStatus();
}

StatusOr<size_t> TextSource::Read(std::span<char> out) {
  const size_t got = text_.copy(out.data(), out.size());
  text_.remove_prefix(got);
  return got;
}

Status TextSource::Skip(uint64_t count) {
  text_.remove_prefix(std::min<uint64_t>(count, text_.size()));
  return OkStatus();
}

StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, uint64_t limit) {
  std::string head;
  while (head.size() < kZstdHead.size()) {
    std::array<char, kZstdHead.size()> bytes{};
    ASSIGN_OR_RETURN(const size_t got,
                     packed->Read(std::span(bytes).first(kZstdHead.size() - head.size())));
    if (got == 0) {
      break;
    }
    head.append(bytes.data(), got);
  }
  const bool is_gzip = head.starts_with(kGzipHead);
  if (head.starts_with(kZstdHead)) {
    return Unimplemented("it is packed by zstd, which is not read");
  }
  auto whole = std::make_unique<WithHead>(std::move(head), std::move(packed));
  if (!is_gzip) {
    return whole;
  }
  auto unpacked = std::make_unique<Gunzip>(std::move(whole), limit);
  RETURN_IF_ERROR(unpacked->Open());
  return unpacked;
}

StatusOr<std::string> ReadWhole(ByteSource& source, size_t limit) {
  std::string text;
  std::array<char, size_t{16} << 10> piece{};
  while (true) {
    ASSIGN_OR_RETURN(const size_t got, source.Read(piece));
    if (got == 0) {
      return text;
    }
    if (text.size() + got > limit) {
      return OutOfRange("it has more than {} bytes", limit);
    }
    text.append(piece.data(), got);
  }
}

}  // namespace kgpu::image
