import { pageHead } from '../http/headers.js'
import { designStyle } from '../lib/brand.js'
import type { Design } from '../lib/design.js'

/** The style of the mailbox and of the preview. Its colours, radii, fonts and sizes are the custom properties of lib/design-style.ts. */
const mailboxStyle = `
*,*::before,*::after{box-sizing:border-box}
body{margin:0;min-height:100dvh;padding:clamp(1.5rem,6vh,4rem) 1rem 2.5rem;color:var(--text);background:var(--background);
background-image:radial-gradient(52rem 26rem at 50% -12rem,color-mix(in srgb,var(--accent) 13%,transparent),transparent);
background-repeat:no-repeat;overflow-wrap:anywhere}
h1,p,ul,dl,dd,pre{margin:0;padding:0}
h1{font-size:var(--size-subtitle);font-weight:650;line-height:1.3;letter-spacing:-.015em}
a{color:var(--accent-text);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent-text);outline-offset:2px}
.brand{display:flex;align-items:center;justify-content:center;gap:.625rem;margin-bottom:1.75rem;font-size:var(--size-brand);font-weight:650}
.brand-mark{display:block}
.brand-word{display:block;height:auto;max-width:100%}
main{max-width:44rem;margin:0 auto}
.card{padding:1.75rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-card);box-shadow:var(--shadow)}
.card>*+*{margin-top:1.25rem}
.empty{text-align:center}
.empty p{color:var(--muted)}
.line{display:flex;align-items:center;justify-content:space-between;gap:1rem}
.button{display:inline-block;padding:.625rem 1rem;color:var(--text);background:var(--surface);border:1px solid var(--edge);
border-radius:var(--radius-control);font-size:var(--size-medium);font-weight:550;text-decoration:none}
.button:hover,.mail:hover{background:var(--raised)}
ul{list-style:none;margin:1rem -1.75rem -1.75rem;border-top:1px solid var(--line)}
li+li{border-top:1px solid var(--line)}
li:last-child .mail{border-radius:0 0 var(--radius-card) var(--radius-card)}
.mail{display:block;padding:.875rem 1.75rem;color:inherit;text-decoration:none}
.mail:focus-visible{outline-offset:-3px}
main>.card+.card{margin-top:1.5rem}
.choice{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1rem;padding:.625rem 1.75rem}
.subject{display:block;font-weight:550}
.about time{white-space:nowrap}
.about,.back,dt,summary{color:var(--muted);font-size:var(--size-small)}
.back{margin-bottom:0}
.back a{display:inline-block}
.back a,summary{padding:.75rem 0}
dl>div{display:flex;gap:.75rem;font-size:var(--size-medium)}
dt{flex:none;width:3.5rem;line-height:1.6}
pre{white-space:pre-wrap;font-size:var(--size-medium)}
.text{padding:1.25rem;background:var(--raised);border:1px solid var(--line);border-radius:var(--radius-control);font-family:inherit}
.source{margin-top:.75rem;padding:1rem;background:var(--raised);border-radius:var(--radius-control);font-size:var(--size-tiny);
font-family:var(--font-code)}
summary{cursor:pointer}
.picture{display:block;width:100%;height:var(--wide);border:1px solid var(--line);border-radius:var(--radius-control)}
@media (max-width:40rem){.picture{height:var(--narrow)}}
h2{margin:0;font-size:var(--size-medium);font-weight:600}
.below{max-width:44rem;margin:1.5rem auto 0;text-align:center;color:var(--muted);font-size:var(--size-tiny)}
`

/** The permissions of the frame around the HTML part: it may open a link that was clicked, but runs no scripts. */
const frameSandbox = 'allow-popups allow-top-navigation-by-user-activation'

export const pageHeaders = { 'cache-control': 'no-store', 'content-type': 'text/html; charset=utf-8' }

/** The policy of a page with a mail, which has one frame from this site. */
export const allowingFrame = (policy: unknown) => String(policy).replace("frame-src 'none'", "frame-src 'self'")

/** The headers of the document in the frame: no script, no form, nothing loaded but images, and an origin without our cookies. */
export const framedHeaders = {
  ...pageHeaders,
  'content-security-policy': `sandbox ${frameSandbox};default-src 'none';style-src 'unsafe-inline';img-src http: https: data:;form-action 'none';frame-ancestors 'self'`,
  'x-frame-options': 'SAMEORIGIN',
  // Images load from any site, as in a mail program, but without cookies.
  'cross-origin-embedder-policy': 'credentialless',
}

type DevPage = { title: string; brand: string; main: string; footer: string; design: Design }

export const devPage = ({ title, brand, main, footer, design }: DevPage) => `<!doctype html>
<html lang="en">
${pageHead(title, designStyle(design) + mailboxStyle)}
<body>
<header class="brand">${brand}</header>
<main>${main}</main>
<footer class="below">${footer}</footer>
</body>
</html>
`

/** A link of a mail: it stands alone on its line. */
export const linkLine = /^https?:\/\/[^\s<>"]+$/

/** The HTML part as a mail program shows it. Its links open in the whole window, not inside the frame. */
export const withLinksInTopWindow = (html: string) => html.replace(/<head[^>]*>/i, '$&<base target="_top">')

const lineHeight = 26

/** The height of a mail in pixels. `characters`: in a line. `around`: heading and margins. A link is a button with its address below. */
const heightOf = (text: string, { characters, around }: { characters: number; around: number }) => {
  const lines = text.split('\n').map((line) => Math.ceil(line.length / characters) + (linkLine.test(line) ? 3 : 0.7))
  return Math.ceil(lines.reduce((sum, each) => sum + each * lineHeight, around))
}
const wide = { characters: 56, around: 70 }
const narrow = { characters: 20, around: 240 }

/**
 * The HTML part in a frame that is as high as the mail. The height is estimated, because no script may run in the frame and measure it.
 * The text part has the same sentences.
 */
export const mailFrame = (text: string, address: string, title = 'Preview of the mail') =>
  `<iframe class="picture" title="${title}" style="--wide:${heightOf(text, wide)}px;--narrow:${heightOf(text, narrow)}px" sandbox="${frameSandbox}" src="${address}"></iframe>`
