/** The style of the mailbox. Its colours, radii, fonts and sizes are the custom properties of lib/design-style.ts. */
export const mailboxStyle = `
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
.button{display:inline-block;padding:.5rem 1rem;color:var(--text);background:var(--surface);border:1px solid var(--line);
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
.about,.back,dt,summary{color:var(--muted);font-size:var(--size-small)}
.back{margin-bottom:.75rem}
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
