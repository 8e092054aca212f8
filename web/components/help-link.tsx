import { mailAddressIn } from '#contract/pages.js'
import { useSettings, useWords } from '../hooks/settings.js'

/** A link to SUPPORT_URL, below a sentence that sends the user to the administrator. Nothing is shown without the setting. */
export const HelpLink = () => {
  const { supportUrl } = useSettings()
  const { getHelp } = useWords('common')
  return supportUrl === undefined ? null : <a href={supportUrl}>{mailAddressIn(supportUrl) ?? getHelp}</a>
}
