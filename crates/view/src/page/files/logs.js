// The log of a container, as it is written.

import { element } from "/dom.js";

// More is not kept on the page.
const MOST = 400_000;

/** A log that goes on until it is closed. */
export function follow(uid, container) {
  const stop = new AbortController();
  const text = element("pre", "log");
  text.tabIndex = 0;
  text.setAttribute("aria-label", `Log of ${container}`);
  const say = (piece, className) => {
    const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    text.append(className ? element("span", className, piece) : piece);
    while (text.textContent.length > MOST && text.firstChild !== text.lastChild) text.firstChild.remove();
    if (isAtEnd) text.scrollTop = text.scrollHeight;
  };
  read(uid, container, stop.signal, say).catch((error) => {
    if (!stop.signal.aborted) say(String(error), "bad");
  });
  return { text, uid, container, close: () => stop.abort() };
}

async function read(uid, container, signal, say) {
  const answer = await fetch(`/api/logs?${new URLSearchParams({ uid, container, follow: "true" })}`, { signal });
  if (!answer.ok) {
    say((await answer.json()).message, "bad");
    return;
  }
  const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await pieces.read();
    if (done) break;
    say(value);
  }
  say("\n(the log ends here)\n", "faint");
}
