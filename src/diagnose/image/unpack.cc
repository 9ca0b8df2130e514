#include "src/diagnose/image/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::image {
namespace {

constexpr std::string_view kGzipHead = "\x1f\x8b";
constexpr size_t kHeadBytes = 4;
constexpr size_t kPieceBytes = size_t{64} << 10;

// A frame, or one that readers leave out, which some packers begin with.
bool IsZstd(std::string_view head) {
  constexpr std::string_view kSkipped = "\x2a\x4d\x18";
  const bool is_skipped = head.size() == kHeadBytes && head.substr(1) == kSkipped &&
                          (static_cast<unsigned char>(head[0]) & 0xf0U) == 0x50U;
  return is_skipped || head == "\x28\xb5\x2f\xfd";
}

Status Take(size_t count, Budget& budget) {
  if (count > budget.bytes) {
    return OutOfRange("more bytes come out than are looked at");
  }
  budget.bytes -= count;
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
  Gunzip(std::unique_ptr<ByteSource> packed, Budget& budget)
      : packed_(std::move(packed)), budget_(budget) {}
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() override { (void)inflateEnd(&stream_); }

  // Errors: ResourceExhausted.
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
    RETURN_IF_ERROR(Take(got, budget_));
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
  Budget& budget_;
  z_stream stream_{};
  std::array<char, kPieceBytes> piece_{};
  bool is_within_ = false;  // a stream that has not ended
  bool has_begun_ = false;
  bool is_done_ = false;
};

// One frame after the other.
class Unzstd final : public ByteSource {
 public:
  Unzstd(std::unique_ptr<ByteSource> packed, Budget& budget)
      : packed_(std::move(packed)), budget_(budget), stream_(ZSTD_createDStream()) {}
  Unzstd(const Unzstd&) = delete;
  Unzstd& operator=(const Unzstd&) = delete;
  ~Unzstd() override { (void)ZSTD_freeDStream(stream_); }

  // Errors: ResourceExhausted.
  Status Open() {
    // 128 MiB at most, as the zstd program takes it: what needs more says so in its header.
    constexpr int kWindowLog = 27;
    const bool is_set = stream_ != nullptr && ZSTD_isError(ZSTD_DCtx_setParameter(
                                                  stream_, ZSTD_d_windowLogMax, kWindowLog)) == 0;
    return is_set ? OkStatus() : ResourceExhausted("no memory to unpack zstd with");
  }

  StatusOr<size_t> Read(std::span<char> out) override {
    while (!is_done_) {
      RETURN_IF_ERROR(Fill());
      if (in_.size == 0) {
        return is_within_ ? StatusOr<size_t>(InvalidArgument("the packed bytes end too early"))
                          : StatusOr<size_t>(0U);
      }
      ASSIGN_OR_RETURN(const size_t got, Decompress(out));
      if (got > 0) {
        return got;
      }
    }
    return 0U;
  }
  Status Skip(uint64_t count) override { return SkipByReading(*this, count); }

 private:
  // Where the last reader was filled there may be more without another byte read.
  Status Fill() {
    if (in_.pos < in_.size || has_more_) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(in_.size, packed_->Read(piece_));
    in_.src = piece_.data();
    in_.pos = 0;
    return OkStatus();
  }

  StatusOr<size_t> Decompress(std::span<char> out) {
    ZSTD_outBuffer piece{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &piece, &in_);
    if (ZSTD_isError(result) != 0) {
      if (is_within_ || !has_begun_) {
        return InvalidArgument("the packed bytes are broken: {}", ZSTD_getErrorName(result));
      }
      is_done_ = true;  // filling after the last frame
      return 0U;
    }
    RETURN_IF_ERROR(Take(piece.pos, budget_));
    has_begun_ = true;
    is_within_ = result != 0;
    has_more_ = is_within_ && piece.pos == piece.size;
    return piece.pos;
  }

  std::unique_ptr<ByteSource> packed_;
  Budget& budget_;
  ZSTD_DStream* stream_;  // owned
  ZSTD_inBuffer in_{};
  std::array<char, kPieceBytes> piece_{};
  bool is_within_ = false;  // a frame that has not ended
  bool has_begun_ = false;
  bool has_more_ = false;
  bool is_done_ = false;
};

template <typename Unpacker>
StatusOr<std::unique_ptr<ByteSource>> Opened(std::unique_ptr<ByteSource> packed, Budget& budget) {
  auto unpacker = std::make_unique<Unpacker>(std::move(packed), budget);
  RETURN_IF_ERROR(unpacker->Open());
  return unpacker;
}

}  // namespace

StatusOr<std::unique_ptr<ByteSource>> Unpack(std::unique_ptr<ByteSource> packed, Budget& budget) {
  std::string head;
  while (head.size() < kHeadBytes) {
    std::array<char, kHeadBytes> bytes{};
    ASSIGN_OR_RETURN(const size_t got,
                     packed->Read(std::span(bytes).first(kHeadBytes - head.size())));
    if (got == 0) {
      break;
    }
    head.append(bytes.data(), got);
  }
  const bool is_gzip = head.starts_with(kGzipHead);
  const bool is_zstd = IsZstd(head);
  auto whole = std::make_unique<WithHead>(std::move(head), std::move(packed));
  if (is_zstd) {
    return Opened<Unzstd>(std::move(whole), budget);
  }
  if (is_gzip) {
    return Opened<Gunzip>(std::move(whole), budget);
  }
  return whole;
}

}  // namespace kgpu::image
