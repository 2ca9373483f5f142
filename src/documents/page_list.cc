#include "documents/page_list.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

namespace saccade {
namespace {

constexpr size_t kMaxListBytes = 2000;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Status BadList(std::string_view list) {
  return InvalidArgument("\"{}\" is no list of pages; write for example \"1-3,8\" or \"5-\"",
                         list.substr(0, 40))
      .WithParam("pages");
}

// 0 when it is no page number.
int PageNumber(std::string_view text) {
  text = Trim(text);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 ? number : 0;
}

struct Range {
  int first = 1, last = 1;
};

// Of one item between commas; last is the largest int for an open end.
bool ReadRange(std::string_view item, Range& range) {
  const size_t dash = item.find('-');
  range.first = PageNumber(item.substr(0, dash));
  if (dash == std::string_view::npos) {
    range.last = range.first;
  } else {
    const std::string_view end = Trim(item.substr(dash + 1));
    range.last = end.empty() ? std::numeric_limits<int>::max() : PageNumber(end);
  }
  return range.first >= 1 && range.last >= range.first;
}

Result<std::vector<Range>> ReadRanges(std::string_view list) {
  if (list.size() > kMaxListBytes) return BadList(list);
  std::vector<Range> ranges;
  std::string_view rest = list;
  while (true) {
    const size_t comma = rest.find(',');
    Range range;
    if (!ReadRange(rest.substr(0, comma), range)) return BadList(list);
    ranges.push_back(range);
    if (comma == std::string_view::npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<std::vector<int>> ParsePageList(std::string_view list, int total) {
  std::vector<Range> ranges = {{1, std::numeric_limits<int>::max()}};
  if (!Trim(list).empty()) {
    SACCADE_ASSIGN_OR_RETURN(ranges, ReadRanges(list));
  }
  std::vector<int> pages;
  std::set<int> seen;
  for (const Range& range : ranges) {
    const bool open = range.last == std::numeric_limits<int>::max();
    const int beyond = range.first > total ? range.first : range.last;
    if (range.first > total || (!open && range.last > total)) {
      return InvalidArgument("there is no page {}: the document has {}", beyond, total).WithParam("pages");
    }
    for (int page = range.first; page <= std::min(range.last, total); ++page) {
      if (seen.insert(page).second) pages.push_back(page);
    }
  }
  return pages;
}

Status CheckPageList(std::string_view list) {
  if (Trim(list).empty()) return OkStatus();
  return ReadRanges(list).status();
}

}  // namespace saccade
