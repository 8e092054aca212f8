import type { ComponentType } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { DrawFirstCard, PageName } from '#contract/pages.js'
import type { Settings } from '../browser/settings.js'
import { LoadingCard } from '../components/card.js'
import { Loading } from '../components/notice.js'
import { AccountFrame } from '../dashboard/frame.js'
import { PageTitle } from '../dashboard/top.js'
import { SettingsContext } from '../hooks/settings.js'
import { ForgotPassword } from '../pages/forgot-password.js'
import { Login } from '../pages/login.js'
import { Register } from '../pages/register.js'
import { drawWith } from './stand-ins.js'

/** The pages whose first form is known before the service was asked. The other pages begin with a card that says "one moment". */
const forms: Partial<Record<PageName, ComponentType>> = {
  login: Login,
  register: Register,
  'forgot-password': ForgotPassword,
}
const Dashboard = () => (
  <>
    <PageTitle account={undefined} />
    <AccountFrame />
  </>
)

/** What stands on a page until the service has said what it shows. */
const waiting: Partial<Record<PageName, ComponentType>> = { dashboard: Dashboard, admin: () => <Loading text="" /> }

/**
 * The first card of a page, before its script has loaded. Its buttons do nothing yet, so they are disabled: a form cannot be sent, also
 * not with the Enter key. Its links have no address yet: the server does not know the page to return to, which would be lost. The
 * script takes these elements over, with what was typed into them (web/browser/mount).
 */
export const drawFirstCard: DrawFirstCard = (page, pageSettings) => {
  // No first card shows a time, so the region of the locale does not matter.
  const settings = { ...pageSettings, locale: pageSettings.language } as Settings
  const First = (pageSettings.maybeSignedIn ? undefined : forms[page]) ?? waiting[page] ?? LoadingCard
  const card = drawWith(settings, () =>
    renderToString(
      <SettingsContext.Provider value={settings}>
        <First />
      </SettingsContext.Provider>,
    ),
  )
  return card.replaceAll('<button ', '<button disabled ').replaceAll(/(<a [^>]*?)\s?href="[^"]*"/g, '$1')
}
