#include "text/python_json.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace saccade {
namespace {

void AppendString(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void Append(const OrderedJson& value, std::string& out) {
  switch (value.type()) {
    case OrderedJson::value_t::object: {
      const char* separator = "";
      out += '{';
      for (const auto& [key, member] : value.get_ref<const OrderedJson::object_t&>()) {
        out += separator;
        AppendString(key, out);
        out += ": ";
        Append(member, out);
        separator = ", ";
      }
      out += '}';
      break;
    }
    case OrderedJson::value_t::array: {
      const char* separator = "";
      out += '[';
      for (const OrderedJson& item : value) {
        out += separator;
        Append(item, out);
        separator = ", ";
      }
      out += ']';
      break;
    }
    case OrderedJson::value_t::string:
      AppendString(value.get_ref<const std::string&>(), out);
      break;
    case OrderedJson::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case OrderedJson::value_t::number_integer:
      out += std::to_string(value.get<int64_t>());
      break;
    case OrderedJson::value_t::number_unsigned:
      out += std::to_string(value.get<uint64_t>());
      break;
    case OrderedJson::value_t::number_float:
      out += PythonFloat(value.get<double>());
      break;
    case OrderedJson::value_t::null:
    case OrderedJson::value_t::binary:
    case OrderedJson::value_t::discarded:
      out += "null";
  }
}

}  // namespace

std::string PythonFloat(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));  // "d.ddde+XX"
  const size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  const std::string_view sign = std::signbit(value) ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {  // the bounds of Python's repr
    return fmt::format("{}{}{}{}e{:+03d}", sign, digits[0], count > 1 ? "." : "", digits.substr(1), exponent);
  }
  if (exponent < 0) return fmt::format("{}0.{:0<{}}{}", sign, "", -exponent - 1, digits);
  if (count <= exponent + 1) return fmt::format("{}{:0<{}}.0", sign, digits, exponent + 1);
  const auto whole = static_cast<size_t>(exponent) + 1;
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

std::string DumpLikePython(const OrderedJson& value) {
  std::string out;
  Append(value, out);
  return out;
}

}  // namespace saccade
