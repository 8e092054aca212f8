import { mailAddressIn } from '#contract/site-links.js'
import { useSettings, useWords } from '../hooks/settings.js'

/** After a sentence that tells to ask the administrator: where that is done. Nothing, if SUPPORT_URL does not say it. */
export const HelpLink = () => {
  const { supportUrl } = useSettings()
  const { getHelp } = useWords('common')
  return supportUrl === undefined ? null : <a href={supportUrl}>{mailAddressIn(supportUrl) ?? getHelp}</a>
}
