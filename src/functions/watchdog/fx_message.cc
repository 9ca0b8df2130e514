#include "src/functions/watchdog/fx_message.h"

#include "src/platform/base/status_macros.h"

namespace kgpu::watchdog {
namespace {

constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kLengthDelimited = 2;
constexpr uint64_t kFixed32 = 5;
constexpr int kMaxVarintBytes = 10;

void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

// The last value of the field with that number, as protobuf has it.
StatusOr<std::string> BytesField(std::string_view message, uint64_t number) {
  WireReader reader(message);
  std::string_view value;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field) {
      return std::string(value);
    }
    if (field->number == number && field->has_bytes) {
      value = field->bytes;
    }
  }
}

}  // namespace

std::optional<uint64_t> WireReader::Varint() {
  uint64_t value = 0;
  for (int i = 0; i < kMaxVarintBytes && !rest_.empty(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> WireReader::Bytes(uint64_t size) {
  if (size > rest_.size()) {
    return std::nullopt;
  }
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

StatusOr<std::optional<WireField>> WireReader::Next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  const std::optional<uint64_t> tag = Varint();
  WireField field{.number = tag.value_or(0) >> 3};
  bool is_complete = tag.has_value() && field.number != 0;
  switch (tag.value_or(0) & 7) {
    case kVarint:
      is_complete = is_complete && Varint().has_value();
      break;
    case kFixed64:
      is_complete = is_complete && Bytes(8).has_value();
      break;
    case kFixed32:
      is_complete = is_complete && Bytes(4).has_value();
      break;
    case kLengthDelimited: {
      const std::optional<uint64_t> size = Varint();
      const std::optional<std::string_view> bytes = size ? Bytes(*size) : std::nullopt;
      is_complete = is_complete && bytes.has_value();
      field.bytes = bytes.value_or("");
      field.has_bytes = true;
      break;
    }
    default:
      is_complete = false;
  }
  if (!is_complete) {
    return InvalidArgument("the message is no valid protobuf");
  }
  return field;
}

StatusOr<std::string> InputOf(std::string_view request) {
  return BytesField(request, 1);
}

std::string ReplyOf(std::string_view output) {
  std::string reply;
  if (!output.empty()) {
    reply += static_cast<char>(1 << 3 | kLengthDelimited);
    AppendVarint(reply, output.size());
    reply += output;
  }
  return reply;
}

StatusOr<std::string> HealthServiceOf(std::string_view request) {
  return BytesField(request, 1);
}

std::string HealthReply(bool is_serving) {
  // Field 1, an enum: SERVING is 1, NOT_SERVING 2.
  return {static_cast<char>(1 << 3 | kVarint), static_cast<char>(is_serving ? 1 : 2)};
}

}  // namespace kgpu::watchdog
