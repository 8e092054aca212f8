import { escapeHtml } from '../../lib/escape-html.js'
import type { Language } from './languages.js'
import type { Block, Letter } from './letters.js'

export const asText = (letter: Letter) =>
  [
    ...letter.blocks.map((block) => ('text' in block ? block.text : 'link' in block ? block.link : block.code)),
    `-- \n${letter.footer}`,
  ].join('\n\n')

const font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"
const button =
  'display:inline-block;padding:12px 20px;border-radius:10px;background:#2f5bea;color:#ffffff;text-decoration:none'
const code = 'font-family:ui-monospace,Menlo,Consolas,monospace;font-size:24px;letter-spacing:3px;margin:0 0 16px'

/** The address is shown below its button as well: a person should see where a link leads before following it. */
const blockAsHtml = (block: Block) => {
  if ('text' in block) return `<p style="margin:0 0 16px">${escapeHtml(block.text)}</p>`
  if ('code' in block) return `<p style="${code}"><strong>${escapeHtml(block.code)}</strong></p>`
  const link = escapeHtml(block.link)
  return `<p style="margin:0 0 8px"><a href="${link}" style="${button}">${escapeHtml(block.label)}</a></p>
<p style="margin:0 0 16px;font-size:13px;color:#59625d;word-break:break-all">${link}</p>`
}

/** Styles stand in the tags and nothing is loaded: mail programs drop style sheets, and an image would tell on the reader. */
export const asHtml = (letter: Letter, productName: string, language: Language) => `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(letter.subject)}</title></head>
<body style="margin:0;padding:32px 16px;background:#f5f4f0;color:#1b201e;font-size:16px;line-height:1.5;${font}">
<div style="max-width:34rem;margin:0 auto">
<p style="margin:0 0 16px;font-weight:600">${escapeHtml(productName)}</p>
<div style="padding:24px 24px 8px;border-radius:16px;background:#ffffff">
${letter.blocks.map(blockAsHtml).join('\n')}
</div>
<p style="margin:16px 0 0;font-size:13px;color:#59625d">${escapeHtml(letter.footer)}</p>
</div>
</body>
</html>
`
