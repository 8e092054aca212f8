/** The colours and shapes of the sign-in pages (web/styles/base.css), as far as a mailbox needs them. */
export const mailboxStyle = `
:root{color-scheme:light dark;--ground:#f5f4f0;--surface:#fff;--raised:#f8f7f4;--text:#1b201e;--muted:#59625d;--line:#e2dfd7;
--shadow:0 1px 2px rgb(30 34 32 / 4%),0 12px 32px -8px rgb(30 34 32 / 10%);
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",sans-serif;line-height:1.5}
@media (prefers-color-scheme:dark){:root{--ground:#121413;--surface:#1a1d1c;--raised:#222624;--text:#ebeeec;--muted:#a4ada8;
--line:#2d3330;--shadow:0 1px 2px rgb(0 0 0 / 30%),0 16px 40px -8px rgb(0 0 0 / 45%)}}
*,*::before,*::after{box-sizing:border-box}
body{margin:0;min-height:100dvh;padding:clamp(1.5rem,6vh,4rem) 1rem 2.5rem;color:var(--text);background:var(--ground);
background-image:radial-gradient(52rem 26rem at 50% -12rem,color-mix(in srgb,var(--accent) 13%,transparent),transparent);
background-repeat:no-repeat;overflow-wrap:anywhere}
h1,p,ul,dl,dd,pre{margin:0;padding:0}
h1{font-size:1.25rem;font-weight:650;line-height:1.3;letter-spacing:-.015em}
a{color:var(--accent-text);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent-text);outline-offset:2px}
.brand{display:flex;align-items:center;justify-content:center;gap:.625rem;margin-bottom:1.75rem;font-size:1.125rem;font-weight:650}
.mark{display:block}
main{max-width:44rem;margin:0 auto}
.card{padding:1.75rem;background:var(--surface);border:1px solid var(--line);border-radius:16px;box-shadow:var(--shadow)}
.card>*+*{margin-top:1.25rem}
.empty{text-align:center}
.empty p{color:var(--muted)}
.line{display:flex;align-items:center;justify-content:space-between;gap:1rem}
.button{display:inline-block;padding:.5rem 1rem;color:var(--text);background:var(--surface);border:1px solid var(--line);
border-radius:10px;font-size:.9375rem;font-weight:550;text-decoration:none}
.button:hover,.mail:hover{background:var(--raised)}
ul{list-style:none;margin:1rem -1.75rem -1.75rem;border-top:1px solid var(--line)}
li+li{border-top:1px solid var(--line)}
li:last-child .mail{border-radius:0 0 16px 16px}
.mail{display:block;padding:.875rem 1.75rem;color:inherit;text-decoration:none}
.mail:focus-visible{outline-offset:-3px}
.subject{display:block;font-weight:550}
.about,.back,dt,summary{color:var(--muted);font-size:.875rem}
.back{margin-bottom:.75rem}
dl>div{display:flex;gap:.75rem;font-size:.9375rem}
dt{flex:none;width:3.5rem;line-height:1.6}
pre{white-space:pre-wrap;font-size:.9375rem}
.text{padding:1.25rem;background:var(--raised);border:1px solid var(--line);border-radius:10px;font-family:inherit}
.source{margin-top:.75rem;padding:1rem;background:var(--raised);border-radius:10px;font-size:.8125rem;
font-family:ui-monospace,"SF Mono","Cascadia Mono",Consolas,monospace}
summary{cursor:pointer}
.picture{display:block;width:100%;height:34rem;border:1px solid var(--line);border-radius:10px;background:#f5f4f0}
h2{margin:0;font-size:.9375rem;font-weight:600}
.below{max-width:44rem;margin:1.5rem auto 0;text-align:center;color:var(--muted);font-size:.8125rem}
`
