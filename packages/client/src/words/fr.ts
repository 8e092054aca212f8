import type { RefusalWords } from './refusal-words.js'

export const fr: RefusalWords = {
  language: 'fr',
  refusals: {
    bad_request: 'Veuillez vérifier votre saisie et réessayer.',
    not_authenticated: 'Connectez-vous pour continuer.',
    invalid_csrf_token: 'Cette page n’est plus à jour. Rechargez-la et réessayez.',
    cross_site: 'Cette requête ne vient pas de nos propres pages. Rechargez la page et réessayez.',
    step_up_required: 'Confirmez à nouveau votre identité pour continuer.',
    not_protected: 'Aucune application n’est enregistrée pour cette adresse.',
    group_required: 'Ce compte n’y a pas accès.',
    too_many_groups:
      'C’est trop long pour les groupes de votre compte. Choisissez plus court ou demandez à votre administrateur.',
    scope_required: 'Cette clé de service n’est pas prévue pour cela.',
    fresh_sign_in_required: 'Confirmez à nouveau votre identité pour faire cette modification.',
    not_found: 'Cela n’existe plus. Rechargez la page.',
    method_not_allowed: 'Cette opération n’est pas prise en charge. Rechargez la page et réessayez.',
    too_large: 'Votre saisie est trop longue.',
    unsupported_media_type: 'Cette opération n’est pas prise en charge. Rechargez la page et réessayez.',
    expectation_failed: 'Cette opération n’est pas prise en charge. Rechargez la page et réessayez.',
    https_required: 'Cette connexion n’était pas chiffrée. Ouvrez la page avec https://.',
    unknown_host: 'Cette adresse n’est pas celle de ce service. Ouvrez-le à sa propre adresse.',
    headers_too_large: 'Votre navigateur a envoyé trop de données. Supprimez les cookies de ce site et réessayez.',
    internal: 'Un problème est survenu de notre côté. Veuillez réessayer.',
    busy: 'Le service est surchargé. Veuillez réessayer dans un instant.',
    unavailable: 'Le service est indisponible pour le moment. Veuillez réessayer dans un instant.',

    mail_is_off: 'Aucun e-mail n’est envoyé ici. Adressez-vous à votre administrateur.',
    too_many_logins: 'Trop de tentatives de connexion.',
    too_many_requests: 'Trop de requêtes. Veuillez patienter un instant.',
    too_many_attempts: 'Trop de tentatives.',

    invalid_credentials: 'Le nom d’utilisateur, l’adresse e-mail ou le mot de passe est incorrect.',
    email_not_confirmed:
      'Confirmez d’abord votre adresse e-mail. Le lien se trouve dans l’e-mail que nous vous avons envoyé lors de votre inscription.',

    wrong_second_factor:
      'Ce code ne fonctionne pas. Vérifiez les six chiffres, ou attendez les suivants. Si cela ne suffit pas, vérifiez l’heure de votre appareil.',
    challenge_over: 'Cette connexion a pris trop de temps ou est déjà terminée. Veuillez vous reconnecter.',
    passkey_rejected: 'Cette clé d’accès ne fonctionne pas ici. Réessayez, ou utilisez un autre moyen.',
    too_many_passkeys: 'Votre compte a déjà le nombre maximal de clés d’accès. Supprimez-en une d’abord.',
    too_many_tokens: 'Votre compte a déjà le nombre maximal de jetons personnels. Révoquez-en un d’abord.',
    token_refused: 'Ce jeton n’est pas destiné à cette application.',
    current_password_required: 'Saisissez d’abord votre mot de passe.',
    other_browser: 'Revenez à la fenêtre où vous avez commencé, et saisissez-y le code.',
    mailed_code_required: 'Saisissez d’abord le code reçu par e-mail.',
    link_required:
      'Demandez à votre administrateur un lien vers votre compte. Vous pourrez ensuite ajouter un second facteur.',
    enrolment_open: 'Cette connexion n’a besoin d’aucune autre preuve. Ajoutez maintenant un second facteur.',
    not_enrolling: 'Ce compte a une deuxième étape. Terminez la connexion avec elle.',
    last_factor: 'Une deuxième étape est obligatoire ici. Ajoutez-en une autre avant de retirer celle-ci.',
    totp_is_on: 'La connexion en deux étapes est déjà activée.',
    totp_is_off: 'La connexion en deux étapes est désactivée.',
    no_totp_begun: 'Cela a pris trop de temps. Veuillez recommencer.',

    email_shape: 'Saisissez une adresse e-mail, par exemple nom@example.com.',
    username_length: 'Utilisez de 1 à 64 caractères.',
    username_at_sign: 'Un nom d’utilisateur ne peut pas contenir @.',
    username_characters: 'Seuls les lettres, les chiffres et . _ - sont possibles.',
    username_edges: 'Commencez et terminez par une lettre ou un chiffre.',
    username_alphabets: 'Utilisez les lettres d’un seul alphabet.',
    other_step: 'Cette connexion attend autre chose. Veuillez recharger la page.',
    terms_changed: 'Les conditions ont changé. Veuillez recharger la page et les lire.',
    invalid_fields: 'Certaines valeurs ne peuvent pas être utilisées. Veuillez vérifier les champs.',
    password_rejected: 'Ce mot de passe ne peut pas être utilisé. Veuillez en choisir un autre.',

    registration_closed: 'Les inscriptions sont fermées. Adressez-vous à votre administrateur.',
    invitation_required: 'Il faut une invitation pour créer un compte ici. Adressez-vous à votre administrateur.',
    invalid_invitation:
      'Cette invitation ne fonctionne pas. Elle a expiré, a déjà été utilisée ou retirée, ou concerne une autre adresse. Demandez-en une nouvelle.',
    email_domain_not_allowed: 'Les adresses de ce domaine ne peuvent pas être utilisées ici.',
    username_taken: 'Ce nom d’utilisateur est déjà utilisé. Veuillez en choisir un autre.',
    too_many_usernames:
      'Vous avez changé trop souvent de nom d’utilisateur. Vous pouvez reprendre l’un des cinq derniers, ou en choisir un nouveau à partir du {date}.',
    username_taken_since: 'Ce nom d’utilisateur a été pris entre-temps. Inscrivez-vous avec un autre nom.',
    already_registered: 'Un compte existe déjà pour cette adresse. Vous pouvez vous connecter.',
    already_confirmed: 'Votre adresse e-mail est déjà confirmée. Vous pouvez vous connecter.',
    invalid_link: 'Ce lien a expiré, a déjà été utilisé ou est incomplet.',
    link_replaced: 'Nous vous avons envoyé un e-mail plus récent. Seul le lien du dernier e-mail fonctionne.',
    invalid_code: 'Ce code est incorrect ou a expiré. Vérifiez-le ou utilisez le lien de l’e-mail.',
    tries_used_up: 'Vos cinq essais sont épuisés. Pour confirmer, ouvrez le lien de l’e-mail.',
    password_required: 'Saisissez le mot de passe que vous avez choisi lors de l’inscription.',
    wrong_chosen_password: 'Ce n’est pas le mot de passe que vous avez choisi lors de l’inscription.',
    password_tries_used_up:
      'Vos cinq essais pour le mot de passe sont épuisés. Ouvrez le lien dans le navigateur où votre inscription a commencé.',
    no_registration_waiting:
      'Aucune inscription n’est en attente dans ce navigateur. Ouvrez le lien que vous avez reçu par e-mail. Ou connectez-vous avec le mot de passe que vous avez choisi, et nous pourrons vous renvoyer l’e-mail.',
    invalid_setup_token: 'Ce lien a expiré, a déjà été utilisé ou est incomplet.',
    already_set_up: 'Un compte existe déjà.',
    admin_group_needed: 'Définissez d’abord ADMIN_GROUP.',

    wrong_current_password: 'Ce n’est pas votre mot de passe actuel.',
    password_unchanged: 'Choisissez un autre mot de passe. Celui-ci est déjà le vôtre.',

    other_username: 'Ce n’est pas votre nom d’utilisateur. Rien n’a été supprimé.',
    email_taken: 'Un autre compte utilise cette adresse. Choisissez-en une autre.',
    wrong_mailed_code: 'Ce n’est pas le code de notre dernier e-mail. Vérifiez-le et réessayez.',
    mailed_code_void: 'Ce code a expiré, ou les cinq essais sont épuisés. Demandez un nouvel e-mail.',

    unknown_device_code:
      'Ce code est inconnu, a déjà été utilisé ou a expiré. Votre appareil peut en afficher un nouveau.',
    program_not_allowed: 'Les programmes de cette adresse ne sont pas autorisés ici.',
    program_document_refused: 'Ce que ce programme indique sur lui-même n’a pas pu être lu, ou ne peut pas être exact.',
    unknown_application: 'L’application qui vous a envoyé ici n’est pas connue de ce site.',
    redirect_not_registered:
      'L’application veut vous faire revenir à une adresse qui n’est pas enregistrée pour elle. Pour votre sécurité, vous n’y êtes pas envoyé.',
    reason_required: 'Indiquez pourquoi : cela est montré avec l’événement.',
    own_account: 'Vous ne pouvez pas modifier votre propre compte ici.',
    administrators_account: 'Seuls les administrateurs peuvent modifier le compte d’un administrateur.',
    no_group: 'Il n’existe pas de groupe de ce nom.',
    group_in_use: 'Une application ou un réglage du service nomme ce groupe. Modifiez cela d’abord.',
    group_has_members: 'Ce groupe a des membres, qui le perdraient.',
    group_of_administrators:
      'Une invitation ne fait de personne un administrateur. Ajoutez l’utilisateur au groupe plus tard.',
    account_disabled: 'Ce compte est désactivé. Réactivez-le d’abord.',
    address_not_proven: 'L’adresse de ce compte n’a jamais été confirmée.',
    locked_down: 'Ce compte a été verrouillé. Seul un administrateur peut le rendre à son propriétaire.',
    too_many_mails: 'Cette adresse a reçu assez d’e-mails de ce genre pour le moment. Réessayez plus tard.',
    has_account: 'Cette adresse a déjà un compte. Elle ne peut être invitée que dans des groupes.',
    email_reserved:
      'Cette adresse ne peut pas encore être inscrite : elle reste réservée au compte qui l’avait ces sept derniers jours.',

    already_linked: 'Un autre compte {provider} est déjà associé. Dissociez-le d’abord.',
    last_way_in: 'C’est votre seul moyen de connexion. Ajoutez-en d’abord un autre.',
    provider_unavailable: '{provider} est injoignable. Veuillez réessayer dans un instant.',
    nothing_to_link:
      'L’opération a pris trop de temps ou a commencé dans un autre navigateur. Veuillez associer {provider} à nouveau.',
    link_of_another_session: 'Une nouvelle session a été ouverte entre-temps. Veuillez associer {provider} à nouveau.',
    link_used_before: 'Cette étape est déjà terminée. Si {provider} n’est pas associé, veuillez réessayer.',
    link_disabled: 'Ce compte est désactivé. Adressez-vous à votre administrateur.',
    link_other_identity: 'Un autre compte {provider} est déjà associé. Dissociez-le d’abord.',
    link_identity_taken: 'Ce compte {provider} est déjà associé à un autre compte ici.',
    link_email_taken: 'L’adresse e-mail de ce compte {provider} est déjà utilisée par un autre compte ici.',
    link_registration_closed: 'Les inscriptions sont fermées. {provider} n’a donc pas été associé.',
  },
  failures: {
    offline: 'Le service est injoignable. Vérifiez votre connexion et réessayez.',
    unavailable: 'Le service est indisponible pour le moment. Veuillez réessayer dans un instant.',
    unexpected: 'Un problème est survenu. Veuillez réessayer.',
    reference: '(Référence : {reference})',
  },
  tryAgainIn: 'Veuillez réessayer dans {time}.',
}
