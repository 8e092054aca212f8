import { type ComponentType, render } from 'preact'
import type { Language } from '#contract/languages.js'
import { languageSwitch, notCompleteElement } from '#contract/pages.js'
import { SettingsContext } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { client } from './client.js'
import { changeLanguage, readSettings } from './settings.js'

let Page: ComponentType
let root: HTMLElement | null

const show = () => {
  if (root)
    render(
      <SettingsContext.Provider value={readSettings()}>
        <main>
          <Page />
        </main>
      </SettingsContext.Provider>,
      root,
    )
}

/**
 * Renders a page into the document that the server sent. The first card is there already (web/first-cards): where the page has the same
 * element, the old one stays, with what was typed into it and with the focus.
 */
export const mount = (page: ComponentType) => {
  Page = page
  root = document.getElementById('page')
  if (!root) throw new Error('The document has no place for its page')
  replaceBrokenLogo()
  // A page that the browser kept for the back button is out of date: the visitor may have signed in or out since.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
  show()
  document.getElementById(notCompleteElement)?.remove()
  announceTyped(root)
  listenForLanguage((language, words) => {
    changeLanguage(language, words)
    if (root?.hasChildNodes()) show()
  })
}

/** Shows something else in the place of the page, of which nothing stays. */
export const replacePage = (page: ComponentType) => {
  Page = page
  show()
}

/** Sends an `input` event for each field that was filled before the script was loaded, because the page has not seen that. */
const announceTyped = (root: HTMLElement) => {
  const typed = [...root.querySelectorAll('input')].filter(({ value, defaultValue }) => value !== defaultValue)
  for (const input of typed) input.dispatchEvent(new Event('input', { bubbles: true }))
}

/** Clears the screen, so that nothing of a session can be seen after it has ended. */
export const unmount = () => {
  if (root) render(null, root)
}

/** A logo from another site may be missing, or lack the header that allows embedding. The product's name takes its place. */
const replaceBrokenLogo = () => {
  const logo = document.querySelector<HTMLImageElement>('.brand img')
  if (!logo) return
  const replace = () => (logo.closest('picture') ?? logo).replaceWith(logo.alt)
  if (logo.complete && logo.naturalWidth === 0) replace()
  else logo.addEventListener('error', replace)
}

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
const listenForLanguage = (show: (language: Language, words: Partial<Words>) => void) => {
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
