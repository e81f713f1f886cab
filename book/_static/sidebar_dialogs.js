/**
 * On a narrow screen the theme shows its sidebars, the contents of the book and those of the page, as dialogs over the page.
 * It leaves them open when a link leads to a place on this page, which the reader could not see then.
 */
document.addEventListener('click', ({ target }) => {
  target.closest('dialog[id$="-sidebar-modal"][open] a[href^="#"]')?.closest('dialog').close();
});
