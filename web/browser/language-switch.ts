import type { Language } from '#contract/languages.js'
import { languageSwitch } from '#contract/pages.js'
import type { Words } from '../words/catalogue.js'
import { client } from './client.js'
import { readSettings } from './settings.js'

type Answer = { language: Language; title: string; footer: Record<string, string>; words: Partial<Words> }

const askForWords = async (language: string, page: string) => {
  const address = `${languageSwitch}?${new URLSearchParams({ to: language, page })}`
  const response = await client.fetch(address).catch(() => undefined)
  return response?.ok ? ((await response.json()) as Answer) : undefined
}

/** The server has drawn the shell of the page, so its words are replaced here. A page with a `Heading` then sets its own title. */
const translateShell = ({ language, title, footer }: Answer) => {
  document.documentElement.lang = language
  document.title = `${title} · ${readSettings().productName}`
  for (const element of document.querySelectorAll<HTMLElement>('footer [data-word]')) {
    const word = footer[element.dataset.word ?? ''] ?? ''
    if (element.hasAttribute('aria-label')) element.setAttribute('aria-label', word)
    else element.textContent = word
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('.languages button'))
    button.setAttribute('aria-pressed', `${button.value === language}`)
}

const showStatus = (form: HTMLFormElement, text: string) => {
  const status = form.querySelector('[role=status]')
  if (status) status.textContent = text
}

/**
 * Without the script, the form loads the page again in the other language. With the script, nothing is loaded again, so what is typed,
 * the token of a mailed link and codes that are shown once stay.
 */
export const listenForLanguage = (show: (language: Language, words: Partial<Words>) => void) => {
  const form = document.querySelector<HTMLFormElement>('form.languages')
  form?.addEventListener('submit', (event) => {
    event.preventDefault()
    if (!(event.submitter instanceof HTMLButtonElement)) return
    void askForWords(event.submitter.value, form.dataset.page ?? '').then((answer) => {
      showStatus(form, answer ? '' : (readSettings().words.common?.languageNotChanged ?? ''))
      if (!answer) return
      translateShell(answer)
      show(answer.language, answer.words)
    })
  })
}
