import { type ComponentType, render } from 'preact'
import { readSettings, type Settings, SettingsContext } from './settings.js'
import type { PageName } from './words/catalogue.js'

/** Brings a page to life where the server has left room for it. */
export const mount = <Page extends PageName>(Page: ComponentType<{ settings: Settings<Page> }>) => {
  const main = document.getElementById('page')
  if (!main) throw new Error('The document has no place for its page')
  const settings = readSettings<Page>()
  hideBrokenLogo()
  // A page that the browser kept for the back button is out of date: who is signed in may have changed meanwhile.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload()
  })
  main.replaceChildren()
  render(
    <SettingsContext.Provider value={settings}>
      <Page settings={settings} />
    </SettingsContext.Provider>,
    main,
  )
}

/** Takes everything off the screen, so that nothing of a session is left to be seen after it. */
export const unmount = () => {
  const main = document.getElementById('page')
  if (main) render(null, main)
}

/** A logo from elsewhere may be missing, or lack the header that lets it be embedded; the name stands well alone. */
const hideBrokenLogo = () => {
  const logo = document.querySelector<HTMLImageElement>('img.brand-mark')
  if (!logo) return
  const hide = () => logo.remove()
  if (logo.complete && logo.naturalWidth === 0) hide()
  else logo.addEventListener('error', hide)
}
