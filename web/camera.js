// Taking a photo: the camera inside the page where the browser allows it, else the phone's own camera.

import {div, el, iconButton} from './dom.js';
import {t} from './i18n.js';

// Opens the camera and hands the photo to `taken` as a File. `fallback` opens the file input with `capture`.
export async function takePhoto(dialog, {taken, fallback, failed}) {
  // A page that came over plain http from another machine has no mediaDevices.
  if (!navigator.mediaDevices?.getUserMedia || matchMedia('(pointer: coarse)').matches) {
    fallback();
    return;
  }
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment', width: {ideal: 2560}}});
  } catch (error) {
    if (error.name === 'NotFoundError') fallback();
    else failed();
    return;
  }
  const video = el('video', {autoplay: true, muted: true, playsinline: true, 'aria-label': t('photo')});
  video.srcObject = stream;
  const shutter = el('button', {type: 'button', class: 'primary', disabled: true, onclick: async () => {
    taken(await still(video));
    dialog.close();
  }}, t('shutter'));
  video.addEventListener('playing', () => { shutter.disabled = false; });
  dialog.setAttribute('aria-label', t('photo'));
  dialog.replaceChildren(div('sheet-head', el('h2', {}, t('photo')), iconButton('remove', t('close'), () => dialog.close())),
                         video, div('sheet-foot', shutter));
  dialog.addEventListener('close', () => {
    for (const track of stream.getTracks()) track.stop();
    dialog.replaceChildren();
  }, {once: true});
  dialog.showModal();
}

async function still(video) {
  const canvas = el('canvas', {width: String(video.videoWidth), height: String(video.videoHeight)});
  canvas.getContext('2d').drawImage(video, 0, 0);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.95));
  const time = new Date().toTimeString().slice(0, 8).replace(/:/g, '-');
  return new File([blob], `photo-${time}.jpg`, {type: 'image/jpeg'});
}
