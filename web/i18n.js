// All texts of the page, in English and Chinese, and which of the two is shown.

const TEXTS = {
  en: {
    title: 'Ask about a picture',
    subtitle: 'Charts, invoices, photographs, screenshots. Everything stays on this machine.',
    drop: 'Drop pictures here, paste, or click to choose',
    dropHint: 'PNG, JPEG, WebP, GIF, TIFF, BMP, HEIC, AVIF \u00b7 several at once',
    dragHere: 'Drop to add',
    samples: 'Or start with a sample',
    pictures: 'Pictures',
    conversation: 'Conversation',
    question: 'Your question',
    placeholderEmpty: 'Add a picture, then ask a question',
    placeholder: 'Ask about the picture',
    placeholderMore: 'Ask a follow-up question',
    add: 'Add pictures',
    send: 'Ask',
    stop: 'Stop',
    restart: 'New conversation',
    remove: 'Remove {name}',
    show: 'Show {name}',
    noPreview: 'This browser cannot show this file. The server may still be able to read it.',
    otherLanguage: '\u4e2d\u6587',
    loading: 'Loading the model',
    offline: 'Server not reachable',
    sending: 'Sending',
    queued: 'Waiting, {n} ahead',
    next: 'Next in line',
    encoding: 'Looking at the picture',
    prefill: 'Reading the question',
    thinking: 'Starting the answer',
    stopped: 'Stopped',
    truncated: 'Cut off at the token limit',
    retry: 'Try again',
    retryIn: 'Busy. Trying again is worthwhile in {n} s.',
    copy: 'Copy',
    copied: 'Copied',
    seconds: '{n} s',
    millis: '{n} ms',
    figTokens: '{n} tokens',
    figRate: '{n} tokens/s',
    figFirst: 'first {n}',
    figTotal: 'total {n}',
    figImage: '{n} picture tokens',
    figCached: '{n} cached',
    errNetwork: 'The connection to the server was lost. Is it still running?',
    errBroken: 'The answer broke off before its end.',
    errTooLarge: 'The pictures are too large for the server.',
    errBusy: 'The server is busy.',
    errStarting: 'The server is still loading the model.',
    errServer: 'The server had a problem.',
    errInput: 'The server could not use this request.',
    errSize: '{name} is {size} MB; the limit is {limit} MB in all.',
    errKind: '{name} is not a picture.',
    errSample: 'The sample could not be loaded.',
    askSomething: 'Type a question first.',
    chipDescribe: 'What is in this picture?',
    chipText: 'Read the text.',
    chipChart: 'Which value is the highest?',
    chipLocate: 'Locate the main objects, output JSON.',
    chipCompare: 'What is different between the pictures?',
  },
  zh: {
    title: '问一张图',
    subtitle: '图表、发票、照片、截图都可以。所有内容只在这台机器上处理。',
    drop: '把图片拖到这里，粘贴，或点击选择',
    dropHint: 'PNG、JPEG、WebP、GIF、TIFF、BMP、HEIC、AVIF · 可一次多张',
    dragHere: '松手即可添加',
    samples: '或者先试试示例图片',
    pictures: '图片',
    conversation: '对话',
    question: '你的问题',
    placeholderEmpty: '先添加图片，再提问',
    placeholder: '问问这张图',
    placeholderMore: '继续追问',
    add: '添加图片',
    send: '提问',
    stop: '停止',
    restart: '新对话',
    remove: '移除 {name}',
    show: '查看 {name}',
    noPreview: '浏览器无法显示这个文件，服务器也许仍能读取。',
    otherLanguage: 'English',
    loading: '正在加载模型',
    offline: '无法连接服务器',
    sending: '正在发送',
    queued: '排队中，前面还有 {n} 个',
    next: '马上轮到',
    encoding: '正在看图',
    prefill: '正在读题',
    thinking: '正在作答',
    stopped: '已停止',
    truncated: '已达到长度上限',
    retry: '重试',
    retryIn: '服务器忙，建议 {n} 秒后重试。',
    copy: '复制',
    copied: '已复制',
    seconds: '{n} 秒',
    millis: '{n} 毫秒',
    figTokens: '{n} 个词元',
    figRate: '{n} 词元/秒',
    figFirst: '首字 {n}',
    figTotal: '共 {n}',
    figImage: '图片 {n} 词元',
    figCached: '缓存 {n}',
    errNetwork: '与服务器的连接断开了，它还在运行吗？',
    errBroken: '回答没有传完就中断了。',
    errTooLarge: '图片太大，服务器无法接收。',
    errBusy: '服务器正忙。',
    errStarting: '服务器还在加载模型。',
    errServer: '服务器出了问题。',
    errInput: '服务器无法处理这个请求。',
    errSize: '{name} 有 {size} MB，合计上限为 {limit} MB。',
    errKind: '{name} 不是图片。',
    errSample: '示例图片加载失败。',
    askSomething: '请先输入问题。',
    chipDescribe: '描述这张图片。',
    chipText: '读出图中的文字。',
    chipChart: '哪个数值最高？',
    chipLocate: '框出主要物体，以JSON输出。',
    chipCompare: '这几张图有什么不同？',
  },
};

const KEY = 'saccade-language';

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;  // storage may be switched off
  }
}

let current = stored() ?? ((navigator.language || 'en').toLowerCase().startsWith('zh') ? 'zh' : 'en');
if (!TEXTS[current]) current = 'en';

export const language = () => current;

export function setLanguage(next) {
  current = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The choice then lasts until the page is closed.
  }
  applyLanguage();
}

// t('queued', {n: 2})
export function t(key, values = {}) {
  const text = TEXTS[current][key] ?? TEXTS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// Fills every element that names its text. Elements made later call t() themselves.
export function applyLanguage() {
  document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
  for (const element of document.querySelectorAll('[data-i18n]')) element.textContent = t(element.dataset.i18n);
  for (const element of document.querySelectorAll('[data-i18n-label]')) {
    element.setAttribute('aria-label', t(element.dataset.i18nLabel));
    if (element.tagName === 'BUTTON') element.title = t(element.dataset.i18nLabel);
  }
}
