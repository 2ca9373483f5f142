// How many tokens a picture costs: the size rule of the model (src/image/smart_resize.cc), so that the page can say it
// before anything is sent.

const FACTOR = 32;  // pixels per token and side: patches of 16, merged two by two
const MAX_RATIO = 200;

function roundHalfToEven(value) {
  const floor = Math.floor(value), rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

// {width, height} in multiples of 32, or null when the picture is too long.
export function modelSize(width, height, {min, max}) {
  if (!(width > 0 && height > 0) || Math.max(width, height) / Math.min(width, height) > MAX_RATIO) return null;
  let newWidth = roundHalfToEven(width / FACTOR) * FACTOR, newHeight = roundHalfToEven(height / FACTOR) * FACTOR;
  if (newWidth * newHeight > max) {
    const beta = Math.sqrt((width * height) / max);
    newWidth = Math.max(FACTOR, Math.floor(width / beta / FACTOR) * FACTOR);
    newHeight = Math.max(FACTOR, Math.floor(height / beta / FACTOR) * FACTOR);
  } else if (newWidth * newHeight < min) {
    const beta = Math.sqrt(min / (width * height));
    newWidth = Math.ceil((width * beta) / FACTOR) * FACTOR;
    newHeight = Math.ceil((height * beta) / FACTOR) * FACTOR;
  }
  return {width: newWidth, height: newHeight};
}

export function pictureTokens(width, height, limits) {
  const size = modelSize(width, height, limits);
  return size && (size.width / FACTOR) * (size.height / FACTOR);
}

export const tokensOfPixels = (pixels) => Math.floor(pixels / (FACTOR * FACTOR));
